import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backupStore, checkStore, restoreStore } from "./maintenance.ts";
import { openStore } from "./open.ts";
import { items, putItem, removeItem, states, withDirectory } from "./testing/store-objects.ts";

const read = async (directory: string): Promise<readonly [number, readonly string[]]> => {
  const store = await openStore(directory);
  try {
    return [store.revision, states(store.page(items, {}).entries)];
  } finally {
    await store.close();
  }
};

describe("a backup", () => {
  test("is made while the store is written to, and opens as a data directory", () =>
    withDirectory(async (directory) => {
      const store = await openStore(join(directory, "data"));
      await putItem(store, "a", 1);
      let value = 1;
      const done = new AbortController();
      const writing = (async () => {
        while (!done.signal.aborted) await putItem(store, "a", ++value);
      })();
      await withDirectory(async (copy) => {
        await store.backup(join(copy, "store.mdb"));
        done.abort();
        await writing;
        expect(await readdir(copy)).toEqual(["store.mdb"]);
        const [revision, found] = await read(copy);
        expect(found).toEqual([`a=${revision}@${revision}`]);
        expect(revision).toBeLessThanOrEqual(store.revision);
        expect((await checkStore(copy)).findings).toEqual([]);
      });
      await store.close();
    }));

  test("can be made without the handle of the store that is in use", () =>
    withDirectory(async (directory) => {
      const data = join(directory, "data");
      const store = await openStore(data);
      await putItem(store, "a", 1);
      await backupStore(data, join(directory, "store.mdb"));
      await putItem(store, "a", 2);
      await store.close();
      expect(await read(directory)).toEqual([1, ["a=1@1"]]);
    }));
});

describe("restoring", () => {
  test("brings the backup's objects back, under revisions that nobody has seen", () =>
    withDirectory(async (directory) => {
      const data = join(directory, "data");
      const file = join(directory, "backup");
      const store = await openStore(data);
      await putItem(store, "a", 1);
      await store.backup(file);
      await putItem(store, "a", 2);
      await removeItem(store, "a");
      await store.close();

      const { replaced } = await restoreStore(file, data);
      expect(replaced).toBe(join(data, "store.mdb.replaced"));
      const restored = await openStore(data);
      expect(states(restored.page(items, {}).entries)).toEqual(["a=1@1"]);
      expect([restored.revision, restored.compactedRevision]).toEqual([4, 4]);
      expect(() => restored.subscribe(items, 3, () => undefined)).toThrow("no longer kept");
      expect((await putItem(restored, "a", 3)).revision).toBe(5);
      await restored.close();
      expect((await checkStore(data)).findings).toEqual([]);
    }));

  test("into an empty directory keeps the backup's revision and events", () =>
    withDirectory(async (directory) => {
      const store = await openStore(join(directory, "data"));
      await putItem(store, "a", 1);
      await putItem(store, "a", 2);
      await store.backup(join(directory, "backup"));
      await store.close();
      const target = join(directory, "other");
      expect(await restoreStore(join(directory, "backup"), target)).toEqual({ replaced: undefined });
      const restored = await openStore(target);
      expect(states(restored.page(items, { revision: 1 }).entries)).toEqual(["a=1@1"]);
      await restored.close();
    }));

  test("from something else than a sound backup changes nothing", () =>
    withDirectory(async (directory) => {
      const data = join(directory, "data");
      const store = await openStore(data);
      await putItem(store, "a", 1);
      await store.close();
      const file = join(directory, "backup");
      for (const content of ["", "short", "not a database at all".repeat(1_000)]) {
        await writeFile(file, content);
        await expect(restoreStore(file, data)).rejects.toMatchObject({ code: "store-corrupt" });
      }
      await expect(restoreStore(join(directory, "missing"), data)).rejects.toMatchObject({ code: "ENOENT" });
      expect(await read(data)).toEqual([1, ["a=1@1"]]);
      expect((await readdir(data)).filter((name) => name.includes("restoring"))).toEqual([]);
    }));

  test("replaces a store that does not open any more", () =>
    withDirectory(async (directory) => {
      const data = join(directory, "data");
      const store = await openStore(data);
      await putItem(store, "a", 1);
      await store.backup(join(directory, "backup"));
      await store.close();
      await writeFile(join(data, "store.mdb"), "overwritten by mistake");
      await restoreStore(join(directory, "backup"), data);
      expect(await read(data)).toEqual([1, ["a=1@1"]]);
    }));
});
