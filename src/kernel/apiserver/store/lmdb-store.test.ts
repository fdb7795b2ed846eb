import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { openFilesBelow } from "#test/support/open-files.ts";
import { checkStore } from "./maintenance.ts";
import { openStore } from "./open.ts";
import { storeContract } from "./store.contract.ts";
import { keyOf, objectOf, putItem, states, withDirectory } from "./testing/store-objects.ts";

describe("the store on LMDB", () => {
  storeContract((use, options) =>
    withDirectory(async (directory) => {
      const store = await openStore(directory, options);
      try {
        await use(store);
      } finally {
        await store.close();
      }
    }),
  );
});

test("a store whose file was replaced rejects the next write for good: it would go where nobody reads", () =>
  withDirectory(async (directory) => {
    const failures: Error[] = [];
    const store = await openStore(directory, { onFatal: (error) => void failures.push(error) });
    await rename(store.file, `${store.file}.moved`);
    await writeFile(store.file, "");
    await expect(putItem(store, "a")).rejects.toMatchObject({ code: "store-commit-failed" });
    expect(store.revision).toBe(0);
    await expect(putItem(store, "b")).rejects.toMatchObject({ code: "store-failed" });
    expect(failures).toHaveLength(1);
    const before = await openFilesBelow(directory);
    await store.close();
    // The library's own stay: to close them would wait for the transaction that has failed.
    if (before.length > 0) expect(await openFilesBelow(directory)).toHaveLength(before.length - 1);
  }));

/** Bytes of a mapped file that are in memory on this process's account. */
function mappedBytes(file: string): number {
  const regions = readFileSync("/proc/self/smaps", "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const ours = regions.filter((region) => region.split("\n", 1)[0]?.endsWith(file) === true);
  return ours.reduce((sum, region) => sum + Number(/^Rss: +(\d+) kB/m.exec(region)?.[1] ?? 0) * 1024, 0);
}

test.runIf(process.platform === "linux")(
  "a large store is loaded without keeping its file's pages, and goes on as any other",
  () =>
    withDirectory(async (directory) => {
      const count = 3000;
      const filled = await openStore(directory);
      const fill = "x".repeat(2000);
      await Promise.all(
        Array.from({ length: count }, (_, at) =>
          filled.write((transaction) => transaction.put(keyOf(`n${at}`), objectOf(keyOf(`n${at}`), fill))),
        ),
      );
      await filled.close();

      const store = await openStore(directory);
      expect(store.revision).toBe(count);
      expect(store.count(keyOf("n0"))).toBe(count);
      // The file has both the objects and their events: more than 12 MB.
      expect(mappedBytes(store.file)).toBeLessThan(2_000_000);
      await putItem(store, "n1", "new");
      await store.close();
      const again = await openStore(directory);
      const entry = again.get(keyOf("n1"));
      expect(entry === undefined ? [] : states([entry])).toEqual([`n1="new"@${count + 1}`]);
      await again.close();
    }),
);

test.runIf(process.platform === "linux")(
  "a store that is written to lets its file's pages go, and is copied meanwhile",
  () =>
    withDirectory(async (directory) => {
      const clock = new FakeClock();
      const options = { clock, retention: { minEvents: 0 }, checkpoints: { segmentWrites: 50 } };
      const store = await openStore(directory, options);
      const fill = "x".repeat(2000);
      for (let round = 0; round < 60; round++) {
        const names = Array.from({ length: 60 }, (_, at) => `n${round * 60 + at}`);
        await Promise.all(names.map((name) => putItem(store, name, fill)));
      }
      const copy = join(directory, "copy");
      await mkdir(copy);
      // It reads all of the file.
      await store.backup(join(copy, "first.mdb"));
      const before = mappedBytes(store.file);
      await clock.advance(5.5 * 60_000);
      await expect.poll(() => store.compactedRevision).toBe(3_600);
      expect(mappedBytes(store.file)).toBeLessThan((before * 3) / 4);
      const copied = store.backup(join(copy, "store.mdb"));
      await putItem(store, "n0", "new");
      await copied;
      await store.close();
      for (const place of [directory, copy]) expect((await checkStore(place)).findings).toEqual([]);
    }),
);
