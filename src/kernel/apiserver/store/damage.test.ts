import { seededRandom } from "#kernel/kit/testing/index.ts";
import { copyFile, open, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { pageBytes } from "./database-pages.ts";
import { checkStore } from "./maintenance.ts";
import { openStore } from "./open.ts";
import { items, putItem, removeItem, states, withDirectory } from "./testing/store-objects.ts";

// Bytes of store.mdb that are not those that were written.

const marked = "a text that is in one row of each table";

/** Objects in one leaf, in many, and in pages of their own; some of them changed, some gone. */
async function fill(directory: string): Promise<void> {
  const store = await openStore(directory);
  for (const size of [1, 500, 3_000, 9_000]) {
    await Promise.all(Array.from({ length: 30 }, (_, at) => putItem(store, `o${size}-${at}`, "x".repeat(size))));
  }
  await putItem(store, "marked", marked);
  for (let at = 0; at < 30; at += 3) await putItem(store, `o500-${at}`, at);
  for (let at = 1; at < 30; at += 3) await removeItem(store, `o3000-${at}`);
  await store.system.put("token", Buffer.from("secret hash"));
  await store.close();
}

/** All that a store shows: its objects, what has happened to them, and what is no object. */
async function contentOf(directory: string): Promise<readonly unknown[]> {
  const store = await openStore(directory, { mustExist: true });
  try {
    const events = store
      .missed(items, store.compactedRevision, 10_000)
      .map(({ type, entry, previous }) => [type, ...states([entry]), previous?.revision]);
    const token = store.system.get("token")?.toString();
    return [store.clusterUid, store.revision, states(store.page(items, {}).entries), events, token];
  } finally {
    await store.close();
  }
}

async function flip(file: string, byte: number, bits: number): Promise<void> {
  const handle = await open(file, "r+");
  try {
    const buffer = Buffer.alloc(1);
    await handle.read(buffer, 0, 1, byte);
    buffer.writeUInt8(buffer.readUInt8() ^ bits);
    await handle.write(buffer, 0, 1, byte);
  } finally {
    await handle.close();
  }
}

/** Runs `use` with a filled store and `damage`, which makes its file the sound one but for a byte. */
const withStore = (
  use: (directory: string, sound: Buffer, damage: (byte: number, bits: number) => Promise<void>) => Promise<void>,
): Promise<void> =>
  withDirectory(async (directory) => {
    await fill(directory);
    const place = join(directory, "store.mdb");
    await copyFile(place, `${place}.sound`);
    await use(directory, await readFile(place), async (byte, bits) => {
      await copyFile(`${place}.sound`, place);
      await flip(place, byte, bits);
    });
  });

/** Every place of a text in the file. */
function placesOf(text: string, file: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) places.push(at);
  return places;
}

test("a changed byte of an object or of its record is reported with the object's name, and the object is not served", () =>
  withStore(async (directory, sound, damage) => {
    const places = placesOf(marked, sound);
    expect(places).toHaveLength(2);
    for (const place of places) {
      await damage(place + 3, 0x20);
      const findings = [expect.stringContaining('items.test.slipway.dev "default/marked"')];
      expect(await checkStore(directory)).toMatchObject({ objects: 111, findings });
      const opened = openStore(directory);
      await expect(opened).rejects.toMatchObject({ code: "store-corrupt", hint: expect.stringContaining("restore") });
      await expect(opened).rejects.toThrow('items.test.slipway.dev "default/marked"');
    }
  }));

test("a changed byte of what is no object is found, too", () =>
  withStore(async (directory, sound, damage) => {
    const [clusterUid] = await contentOf(directory);
    for (const [text, name] of [
      ["secret hash", 'system record "token"'],
      [String(clusterUid), "meta.clusterUID"],
    ] as const) {
      const refusals: string[] = [];
      for (const place of placesOf(text, sound)) {
        await damage(place + 3, 1);
        await contentOf(directory).catch((thrown: unknown) => void refusals.push(messageOf(thrown)));
      }
      // A page that is free now may hold it, too.
      expect(refusals).toEqual([expect.stringContaining(`${name} is damaged`)]);
    }
  }));

test("a changed bit anywhere in the file is found at the start, or changes nothing", () =>
  withStore(async (directory, sound, damage) => {
    const before = await contentOf(directory);
    const used = sound.findLastIndex((byte) => byte !== 0);
    const random = seededRandom(1);
    const upTo = (end: number): number => Math.floor(random() * end);
    const heads = Math.ceil(used / pageBytes);
    let refused = 0;
    for (let run = 0; run < 120; run++) {
      // The heads of pages, the two of the file itself more often, and what is in them.
      const place = [upTo(used), upTo(heads) * pageBytes + upTo(60), upTo(2) * pageBytes + upTo(160)][run % 3] ?? 0;
      await damage(place, 1 << upTo(8));
      const found = await contentOf(directory).catch((thrown: unknown) => {
        expect(["store-corrupt", "store-format"], `byte ${place}: ${String(thrown)}`).toContain(codeOf(thrown));
      });
      if (found === undefined) {
        refused++;
        continue;
      }
      expect(found, `byte ${place}`).toEqual(before);
      // Nor does it do harm later.
      const store = await openStore(directory);
      await putItem(store, "after", "y".repeat(3_000));
      await removeItem(store, "o500-2");
      await store.close();
      expect((await checkStore(directory)).findings, `byte ${place}`).toEqual([]);
    }
    expect(refused).toBeGreaterThan(40);
  }));

/** Levels of the tree of free pages: two when its records fill more than one page. */
function depthOfFreeTable(file: Buffer): number {
  const [a, b] = [file.subarray(0, pageBytes), file.subarray(pageBytes)];
  return (a.readBigUInt64LE(152) > b.readBigUInt64LE(152) ? a : b).readUInt16LE(54);
}

test("a sound file starts when its list of free pages is long", () =>
  withDirectory(async (directory) => {
    const filled = await openStore(directory);
    for (let at = 0; at < 48; at++) await putItem(filled, `large-${at}`, "x".repeat(90_000));
    await filled.close();
    // Each transaction frees some 160 pages.
    const store = await openStore(directory, { checkpoints: { everyMs: 3_600_000, segmentWrites: 6 } });
    for (let at = 0; at < 40; at++) await removeItem(store, `large-${at}`);
    await store.close();
    expect(depthOfFreeTable(await readFile(join(directory, "store.mdb")))).toBe(2);
    expect((await checkStore(directory)).findings).toEqual([]);
    const opened = await openStore(directory);
    expect(opened.page(items, {}).entries).toHaveLength(8);
    await opened.close();
  }));

test("a sound file starts when a large value became smaller within a transaction", () =>
  withDirectory(async (directory) => {
    const store = await openStore(directory, { checkpoints: { everyMs: 3_600_000 } });
    await store.system.put("large", Buffer.alloc(50_000));
    await store.system.put("large", Buffer.alloc(9_000));
    await store.close();
    const opened = await openStore(directory);
    expect(opened.system.get("large")).toHaveLength(9_000);
    await opened.close();
  }));

describe("where there has been a store, none is made anew", () => {
  /** A store whose server was killed: its latest writes are in the redo log only. */
  async function killed(directory: string): Promise<void> {
    const live = join(directory, "live");
    const store = await openStore(live, { checkpoints: { everyMs: 3_600_000 } });
    await putItem(store, "a");
    for (const name of await readdir(live)) await copyFile(join(live, name), join(directory, name));
    await store.close();
    await rm(live, { recursive: true });
  }
  const contents = async (directory: string) =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(directory)).map(
          async (name) => [name, await readFile(join(directory, name), "latin1")] as const,
        ),
      ),
    );
  const otherStore = async (place: string): Promise<void> => {
    const directory = `${place}.other`;
    const store = await openStore(directory);
    await putItem(store, "foreign");
    await store.close();
    await rename(join(directory, "store.mdb"), place);
    await rm(directory, { recursive: true });
  };

  test.each<[string, (place: string) => Promise<void>, string]>([
    ["missing", (place) => rm(place), "is missing"],
    ["empty", (place) => truncate(place, 0), "is empty"],
    ["all zeros", (place) => writeFile(place, Buffer.alloc(8_192)), "is empty"],
    ["a text", (place) => writeFile(place, "dear store"), "is not a database"],
    ["another cluster's", otherStore, "belongs to another store"],
  ])("its file is %s", (_, damage, message) =>
    withDirectory(async (directory) => {
      await killed(directory);
      await damage(join(directory, "store.mdb"));
      const before = await contents(directory);
      for (const look of [() => openStore(directory), () => checkStore(directory)]) {
        const opened = look();
        await expect(opened).rejects.toThrow(message);
        await expect(opened).rejects.toMatchObject({ code: "store-corrupt", hint: expect.stringContaining("restore") });
        const after = await contents(directory);
        for (const name of ["store.mdb", "store.redo-0"]) expect(after[name] === before[name], name).toBe(true);
      }
    }),
  );

  test("its file is an older copy than the redo log beside it", () =>
    withDirectory(async (directory) => {
      const store = await openStore(directory, { checkpoints: { everyMs: 3_600_000 } });
      const copy = join(directory, "copy");
      await putItem(store, "a");
      await store.backup(copy);
      await putItem(store, "b");
      const redo = await readFile(join(directory, "store.redo-0"));
      await store.close();
      await rename(copy, join(directory, "store.mdb"));
      await writeFile(join(directory, "store.redo-0"), redo);
      await expect(openStore(directory)).rejects.toThrow("ends at revision 1, the redo log beside it at 2");
    }));

  test("something else says that there has been one", () =>
    withDirectory(async (directory) => {
      await expect(openStore(directory, { mustExist: true })).rejects.toThrow("is missing, but this data directory");
      expect(await readdir(directory)).toEqual([]);
      const store = await openStore(directory);
      await store.close();
      await (await openStore(directory, { mustExist: true })).close();
    }));
});
