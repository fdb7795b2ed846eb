import { join } from "node:path";
import { open as openLmdb } from "lmdb";
import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { sealRow } from "./checksum.ts";
import { encodeRecord, encodeRevision, encodeValue, inlinePrevious, keyText } from "./codec.ts";
import { encodeRow } from "./log-rows.ts";
import { checkStore } from "./maintenance.ts";
import { openStore } from "./open.ts";
import { ownBuffers } from "./slab.ts";
import type { Store, StoreKey } from "./store.ts";
import {
  items,
  keyOf,
  names,
  objectOf,
  plainText,
  putItem,
  removeItem,
  states,
  withDirectory,
} from "./testing/store-objects.ts";

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/** Edits the tables behind the store's back. */
async function tamper(
  directory: string,
  edit: (tables: Record<"meta" | "obj" | "log", ReturnType<typeof table>>) => unknown,
): Promise<void> {
  const env = open(directory);
  const tables = { meta: table(env, "meta"), obj: table(env, "obj"), log: table(env, "log") };
  edit(tables);
  await env.flushed;
  await env.close();
}

const open = (directory: string) =>
  openLmdb<Buffer, Buffer>({
    ...binary,
    path: join(directory, "store.mdb"),
    noSubdir: true,
    maxDbs: 8,
    overlappingSync: false,
  });
const table = (env: ReturnType<typeof open>, name: string) => env.openDB<Buffer, Buffer>(name, binary);
/** As the store itself writes a row. */
const put = (into: ReturnType<typeof table>, key: Buffer, value: Buffer) => into.putSync(key, sealRow(key, value));
const objKey = (key: StoreKey): Buffer => Buffer.from(keyText(key));

/** A store with objects a (revisions 1 and 3) and b (2), c having come (4) and gone (5). Each record has a row of its own. */
async function fill(directory: string): Promise<void> {
  const changes: readonly ((store: Store) => Promise<unknown>)[] = [
    (store) => putItem(store, "a", 1),
    (store) => putItem(store, "b", 1),
    (store) => putItem(store, "a", 2),
    (store) => putItem(store, "c", 1),
    (store) => removeItem(store, "c"),
  ];
  for (const change of changes) {
    const store = await openStore(directory);
    await change(store);
    await store.close();
  }
}

describe("opening again", () => {
  test("finds objects, revisions, events, indexes and system records", () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const before = await openStore(directory);
      await before.system.put("token", Buffer.from("hash"));
      const { clusterUid } = before;
      await before.close();
      const store = await openStore(directory);
      expect(store.clusterUid).toBe(clusterUid);
      expect(store.system.get("token")?.toString()).toBe("hash");
      expect(states(store.page(items, {}).entries)).toEqual(["a=2@3", "b=1@2"]);
      expect(states(store.page(items, { revision: 2 }).entries)).toEqual(["a=1@1", "b=1@2"]);
      expect(states(store.page(items, { revision: 4 }).entries)).toEqual(["a=2@3", "b=1@2", "c=1@4"]);
      expect([store.byUid("uid-default-a")?.createRevision, store.byUid("uid-default-c")]).toEqual([1, undefined]);
      const seen: string[] = [];
      store.subscribe(items, 2, (events) =>
        seen.push(...events.map(({ type, revision, previous }) => `${type}@${revision}<${previous?.revision ?? 0}`)),
      );
      expect(seen).toEqual(["modify@3<1", "add@4<0", "delete@5<4"]);
      await store.close();
    }));

  test("gives parsed objects equal to those that were written", () =>
    withDirectory(async (directory) => {
      const store = await openStore(directory);
      const written = (await putItem(store, "a", { deep: [1, { two: "zwei" }] })).object();
      await store.close();
      const again = await openStore(directory);
      expect(again.get(keyOf("a"))?.object()).toEqual(written);
      await again.close();
    }));

  test("finds objects of every size", () =>
    withDirectory(async (directory) => {
      const sizes = [0, 1_000, 1_900, 4_000, 20_000, 70_000, 1_400_000];
      const store = await openStore(directory);
      await Promise.all(sizes.map((size) => putItem(store, `s${size}`, String(size).padEnd(size, "é"))));
      const written = store.page(items, {}).entries.map((entry) => entry.bytes);
      await store.close();
      const again = await openStore(directory);
      expect(
        again.page(items, {}).entries.map((entry) => entry.bytes.equals(written.shift() ?? Buffer.alloc(0))),
      ).toEqual(sizes.map(() => true));
      await again.close();
      expect((await checkStore(directory)).findings).toEqual([]);
    }));

  test("after compaction finds the previous state of every retained event", () =>
    withDirectory(async (directory) => {
      const clock = new FakeClock();
      const options = { clock, retention: { minEvents: 0 } };
      const store = await openStore(directory, options);
      await putItem(store, "kept", 1);
      await putItem(store, "idle", 1);
      await putItem(store, "gone", 1);
      await removeItem(store, "gone");
      await clock.advance(30_000);
      // Within reach of the first compaction: `kept` has a later event that is retained.
      await clock.advance(4.5 * 60_000);
      await putItem(store, "kept", 2);
      await clock.advance(30_000);
      await expect.poll(() => store.compactedRevision).toBe(4);
      // The record of `idle` went with the compaction, so this write carries its previous state.
      await putItem(store, "idle", 2);
      await store.close();

      expect((await checkStore(directory)).findings).toEqual([]);
      const again = await openStore(directory, options);
      expect(states(again.page(items, { revision: 4 }).entries)).toEqual(["idle=1@2", "kept=1@1"]);
      expect(again.page(items, { revision: 4 }).entries.map((entry) => entry.createRevision)).toEqual([2, 1]);
      await clock.advance(6 * 60_000);
      await expect.poll(() => again.compactedRevision).toBe(6);
      await again.close();
      expect(await checkStore(directory)).toMatchObject({ records: 0, objects: 2, findings: [] });
    }));

  test("a large compaction goes in steps, and writes get through between them", () =>
    withDirectory(async (directory) => {
      const clock = new FakeClock();
      const store = await openStore(directory, { clock, retention: { minEvents: 0 } });
      await store.write((transaction) => {
        for (let value = 0; value < 5_000; value++) transaction.put(keyOf("a"), objectOf(keyOf("a"), value));
      });
      await clock.advance(5.5 * 60_000);
      const write = putItem(store, "b");
      await expect.poll(() => store.compactedRevision).toBe(5_000);
      expect((await write).revision).toBe(5_001);
      await store.close();
      expect(await checkStore(directory)).toMatchObject({ compacted: 5_000, records: 1, findings: [] });
    }));
});

describe("a store that contradicts itself is not opened", () => {
  const cases: readonly [string, string, Parameters<typeof tamper>[1]][] = [
    [
      "an object newer than the revision",
      "has revision 9",
      ({ obj }) => put(obj, objKey(keyOf("b")), encodeValue(2, 9, json("b"))),
    ],
    ["a missing last record", "the last record is of revision 4", ({ log }) => log.removeSync(encodeRevision(5))],
    [
      "a missing record in between",
      "the record of revision 3 is missing",
      ({ log }) => log.removeSync(encodeRevision(3)),
    ],
    [
      "a missing previous record",
      "the record of revision 1 is missing",
      ({ log }) => log.removeSync(encodeRevision(1)),
    ],
    [
      "a revision that went back",
      "the last record is of revision 5",
      ({ meta }) => put(meta, Buffer.from("revision"), encodeRevision(4)),
    ],
    [
      "a lost object",
      'items.test.slipway.dev "default/a" is not in the state',
      ({ obj }) => obj.removeSync(objKey(keyOf("a"))),
    ],
    [
      "an object behind its record",
      'items.test.slipway.dev "default/a" is not in the state',
      ({ obj }) => put(obj, objKey(keyOf("a")), encodeValue(1, 1, json("a"))),
    ],
    [
      "an object without record",
      'items.test.slipway.dev "default/x" has no record',
      ({ obj }) => put(obj, objKey(keyOf("x")), encodeValue(2, 2, json("x"))),
    ],
    [
      "a record under another revision",
      "record 5 holds revision 4",
      ({ log }) => log.putSync(encodeRevision(5), log.get(encodeRevision(4)) ?? Buffer.alloc(0)),
    ],
    ["no revision", "meta.revision is missing", ({ meta }) => meta.removeSync(Buffer.from("revision"))],
    [
      "a compaction beyond the revision",
      "beyond its revision 5",
      ({ meta }) => put(meta, Buffer.from("compacted"), encodeRevision(6)),
    ],
    [
      "an object's key of three parts",
      "a key has 3 parts",
      ({ obj }) => put(obj, Buffer.from("a\0b\0c"), encodeValue(1, 1, json("c"))),
    ],
    ["an object cut short", "a value has only 3 bytes", ({ obj }) => put(obj, objKey(keyOf("a")), Buffer.from("abc"))],
    [
      "an inlined state of another revision",
      "has no record of its state before",
      ({ log }) => log.putSync(encodeRevision(3), encodeRow({ records: [wronglyInlined()] })),
    ],
  ];
  const json = (name: string): Buffer => Buffer.from(JSON.stringify(objectOf(keyOf(name))));
  const wronglyInlined = (): Buffer => {
    const text = JSON.stringify(objectOf(keyOf("a"), 2));
    const fields = {
      type: "modify",
      prevRevision: 1,
      key: keyText(keyOf("a")),
      createRevision: 1,
      revision: 3,
    } as const;
    const record = encodeRecord({ ...fields, text: plainText(text) }, ownBuffers);
    return inlinePrevious(record, encodeValue(1, 2, json("a")));
  };

  test.each(cases)("%s", (_, message, edit) =>
    withDirectory(async (directory) => {
      await fill(directory);
      await tamper(directory, edit);
      const opened = openStore(directory);
      await expect(opened).rejects.toMatchObject({ code: "store-corrupt", hint: expect.stringContaining("backup") });
      await expect(opened).rejects.toThrow(message);
    }),
  );

  test("another format is refused by its name", () =>
    withDirectory(async (directory) => {
      await fill(directory);
      await tamper(directory, ({ meta }) => meta.putSync(Buffer.from("format"), Buffer.from("2")));
      await expect(openStore(directory)).rejects.toMatchObject({ code: "store-format" });
    }));
});

describe("checking", () => {
  test("finds what start-up does not look for", () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const broken = (edit: (text: string) => string): Buffer =>
        encodeValue(2, 2, Buffer.from(edit(JSON.stringify(objectOf(keyOf("b"))))));
      const findings = async (edit: (text: string) => string): Promise<readonly string[]> => {
        await tamper(directory, ({ obj }) => put(obj, objKey(keyOf("b")), broken(edit)));
        return (await checkStore(directory)).findings;
      };
      expect(await findings((text) => text)).toEqual([]);
      expect(await findings((text) => text.slice(0, -1))).toEqual([expect.stringContaining("JSON")]);
      expect(await findings((text) => text.replace('"name":"b"', '"name":"other"'))).toEqual([
        'items.test.slipway.dev "default/b" holds an object named "default/other"',
      ]);
      expect(await findings((text) => text.replace("uid-default-b", "uid-default-a"))).toEqual([
        'items.test.slipway.dev "default/b" has the uid of items.test.slipway.dev "default/a"',
      ]);
      expect(await findings((text) => text.replace("test.slipway.dev/v1", "other/v1"))).toEqual([
        'items.test.slipway.dev "default/b" holds an object of apiVersion "other/v1"',
      ]);
      expect(await findings((text) => text.replace('"kind":"Item"', '"kind":""'))).toEqual([
        'items.test.slipway.dev "default/b" has no kind',
      ]);
    }));

  test("counts what it read", () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const report = await checkStore(directory);
      expect(report).toEqual({ revision: 5, compacted: 0, objects: 2, records: 5, findings: [] });
    }));

  test("does not make a store where there is none", () =>
    withDirectory(async (directory) => {
      await expect(checkStore(directory)).rejects.toMatchObject({ code: "store-corrupt" });
    }));
});

test("an object whose name another collection has too is another object", () =>
  withDirectory(async (directory) => {
    const store = await openStore(directory);
    const other = keyOf("a", "default", { group: "other.slipway.dev", resource: "items" });
    await putItem(store, "a");
    await store.write((transaction) => transaction.put(other, objectOf(other, 1, { uid: "other" })));
    await store.close();
    const again = await openStore(directory);
    expect(again.collections()).toHaveLength(2);
    expect(names(again.page(items, {}).entries)).toEqual(["a"]);
    await again.close();
  }));
