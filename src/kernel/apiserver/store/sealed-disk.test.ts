import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { checkStore, restoreStore } from "./maintenance.ts";
import type { Row } from "./disk.ts";
import { openLmdb } from "./lmdb-disk.ts";
import { type DurableStore, openStore, type StoreOptions } from "./open.ts";
import { type SealingKey, sealingKey } from "./sealed-disk.ts";

const one = sealingKey(randomBytes(32));
const two = sealingKey(randomBytes(32));
const value = "a-secret-that-stands-out";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-sealed-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const open = (encryptionKeys: readonly SealingKey[] = [], more: StoreOptions = {}) =>
  openStore(directory, { encryptionKeys, ...more });
const key = (name: string, resource = "secrets") => ({ group: "", resource, namespace: "default", name });
const put = (store: DurableStore, name: string, text: string, resource = "secrets") =>
  store.write((transaction) => {
    const uid = transaction.head(key(name, resource))?.uid ?? `${resource}-${name}`;
    const kind = resource === "secrets" ? "Secret" : "ConfigMap";
    transaction.put(key(name, resource), {
      apiVersion: "v1",
      kind,
      metadata: { name, namespace: "default", uid },
      data: { text },
    });
  });
const textOf = (store: DurableStore, name: string, resource = "secrets") =>
  (store.get(key(name, resource))?.object() as { data?: { text?: string } } | undefined)?.data?.text;
/** Rows are read in place: each is copied before the next one. */
const copy = (row: Row): Buffer => Buffer.from(row.value);
const copies = (row: Row): Row => ({ key: Buffer.from(row.key), value: copy(row) });
const isOnDisk = async (text: string) => (await readFile(join(directory, "store.mdb"))).includes(text);
const failure = (run: Promise<DurableStore>): Promise<unknown> =>
  run.then(
    async (store) => {
      await store.close();
    },
    (thrown: unknown) => thrown,
  );

describe("with a key", () => {
  test("a Secret is nowhere on the disk, and the same after a restart", async () => {
    const store = await open([one]);
    await put(store, "s", value);
    await put(store, "s", `${value}-2`);
    await put(store, "m", "a-text-that-is-none", "configmaps");
    await store.close();
    expect(await isOnDisk(value)).toBe(false);
    expect(await isOnDisk("a-text-that-is-none")).toBe(true);
    const again = await open([one]);
    expect(textOf(again, "s")).toBe(`${value}-2`);
    expect(textOf(again, "m", "configmaps")).toBe("a-text-that-is-none");
    expect(again.revision).toBe(3);
    await again.close();
  });

  test("events of Secrets are whole after a restart, what was before them too", async () => {
    const store = await open([one]);
    await put(store, "s", "1");
    await put(store, "s", "2");
    await store.write((transaction) => void transaction.remove(key("s")));
    await store.close();
    const again = await open([one]);
    const seen: unknown[] = [];
    again.subscribe({ group: "", resource: "secrets" }, 0, (events) => {
      for (const { type, entry, previous } of events)
        seen.push([type, entry.object()["data"], previous?.object()["data"]]);
    });
    expect(seen).toEqual([
      ["add", { text: "1" }, undefined],
      ["modify", { text: "2" }, { text: "1" }],
      ["delete", { text: "2" }, { text: "2" }],
    ]);
    await again.close();
  });

  test("a state that is carried by the record after it is sealed, too", async () => {
    const clock = new FakeClock();
    const retention = { minEvents: 1, minAgeMs: 0 } as never;
    const store = await open([one], { clock, retention });
    await put(store, "s", `${value}-old`);
    for (let count = 0; count < 10; count++) await put(store, "m", String(count), "configmaps");
    await clock.advance(600_000);
    await put(store, "s", `${value}-new`);
    await store.close();
    expect(await isOnDisk(value)).toBe(false);
    const again = await open([one]);
    expect(textOf(again, "s")).toBe(`${value}-new`);
    await again.close();
  });

  test("what was there before it is sealed at the next start", async () => {
    const plain = await open();
    await put(plain, "s", value);
    await plain.close();
    expect(await isOnDisk(value)).toBe(true);
    const store = await open([one]);
    expect(textOf(store, "s")).toBe(value);
    await store.close();
    const disk = await openLmdb(join(directory, "store.mdb"));
    const rows = [...Array.from(disk.objects(), copy), ...Array.from(disk.records(), copy)];
    await disk.close();
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) expect(row.includes(value)).toBe(false);
  });

  test("two seals of one value are two different texts", async () => {
    const store = await open([one]);
    await put(store, "a", value);
    await put(store, "b", value);
    await store.close();
    const disk = await openLmdb(join(directory, "store.mdb"));
    const rows = Array.from(disk.objects(), (row) => copy(row).subarray(16));
    await disk.close();
    expect(rows[0]?.equals(rows[1] ?? Buffer.of())).toBe(false);
    expect(rows[0]?.subarray(9, 21).equals(rows[1]?.subarray(9, 21) ?? Buffer.of())).toBe(false);
  });
});

describe("keys", () => {
  test("change: the new one in front, and after a start the old one may go", async () => {
    const store = await open([one]);
    await put(store, "s", value);
    await put(store, "s", `${value}-2`);
    await store.close();
    const both = await open([two, one]);
    await put(both, "t", "new");
    expect(textOf(both, "s")).toBe(`${value}-2`);
    await both.close();
    const after = await open([two]);
    expect([textOf(after, "s"), textOf(after, "t")]).toEqual([`${value}-2`, "new"]);
    await after.close();
  });

  test("that are missing are told so, and nothing is changed", async () => {
    const store = await open([one]);
    await put(store, "s", value);
    await store.close();
    expect(await failure(open())).toMatchObject({
      code: "encryption-key-missing",
      message: "the store holds Secrets that are encrypted, and no key was given",
    });
    expect(await failure(open([two]))).toMatchObject({
      code: "encryption-key-missing",
      message: expect.stringContaining("not among those given"),
    });
    const again = await open([one]);
    expect(textOf(again, "s")).toBe(value);
    await again.close();
  });

  test("are not needed where there are no Secrets", async () => {
    const store = await open([one]);
    await put(store, "m", "x", "configmaps");
    await store.close();
    await (await open()).close();
  });
});

describe("bytes that were changed", () => {
  const damage = async (change: (value: Buffer) => void) => {
    const disk = await openLmdb(join(directory, "store.mdb"));
    const [row] = Array.from(disk.objects(), copies);
    if (row === undefined) throw new Error("there is no row");
    change(row.value);
    await disk.rewrite([row], []);
    await disk.close();
  };

  test.each<[string, (value: Buffer) => void]>([
    ["of the text", (bytes) => void (bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1)],
    ["of the tag", (bytes) => void (bytes[16 + 21] = (bytes[16 + 21] ?? 0) ^ 1)],
    ["of the nonce", (bytes) => void (bytes[16 + 9] = (bytes[16 + 9] ?? 0) ^ 1)],
    ["of a revision", (bytes) => void (bytes[7] = 0)],
  ])("%s do not open", async (_what, change) => {
    const store = await open([one]);
    await put(store, "s", value);
    await store.close();
    await damage(change);
    expect(await failure(open([one]))).toMatchObject({ code: "store-corrupt" });
  });

  test("neither does a row in another one's place", async () => {
    const store = await open([one]);
    await put(store, "a", "1");
    await put(store, "b", "2");
    await store.close();
    const disk = await openLmdb(join(directory, "store.mdb"));
    const [a, b] = Array.from(disk.objects(), copies);
    if (a === undefined || b === undefined) throw new Error("rows are missing");
    await disk.rewrite([{ key: a.key, value: b.value }], []);
    await disk.close();
    expect(await failure(open([one]))).toMatchObject({ code: "store-corrupt" });
  });
});

test("a backup stays sealed; checks and restores open it with the key", async () => {
  const store = await open([one]);
  await put(store, "s", value);
  const file = join(directory, "backup.mdb");
  await store.backup(file);
  await store.close();
  expect((await readFile(file)).includes(value)).toBe(false);
  expect((await checkStore(directory, [one])).findings).toEqual([]);
  const place = await mkdtemp(join(tmpdir(), "slipway-restored-"));
  await restoreStore(file, place, [one]);
  const restored = await openStore(place, { encryptionKeys: [one] });
  expect(textOf(restored, "s")).toBe(value);
  await restored.close();
  await rm(place, { recursive: true });
  await writeFile(join(directory, "other"), "");
});
