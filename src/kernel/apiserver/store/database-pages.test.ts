import { join } from "node:path";
import { expect, test } from "vitest";
import { seededRandom } from "#kernel/kit/testing/index.ts";
import { rounds } from "#test/support/rounds.ts";
import { decodeKey } from "./codec.ts";
import { prepareDatabaseFile } from "./database-file.ts";
import { openLmdb } from "./lmdb-disk.ts";
import { diskBatch, diskWrite, withDirectory } from "./testing/store-objects.ts";

// Whatever was written, at whatever transaction a killed server stopped: a start finds the file sound.

test.each(rounds([1, 2], [1, 2, 3, 4, 5, 6, 7, 8]))(
  "a file is sound after each of many transactions, seed %i",
  (seed) =>
    withDirectory(async (directory) => {
      const random = seededRandom(seed);
      const below = (end: number): number => Math.floor(random() * end);
      const path = join(directory, "store.mdb");
      const revisionByName = new Map<string, number>();
      let revision = 0;
      const write = () => {
        const name = `i${below(400)}`;
        const prev = revisionByName.get(name);
        const deletes = prev !== undefined && below(4) === 0;
        if (deletes) revisionByName.delete(name);
        else revisionByName.set(name, revision + 1);
        const value = "x".repeat(below(below(50) === 0 ? 100_000 : 3_000));
        return diskWrite(name, ++revision, { prev: prev ?? 0, deletes, value });
      };
      let disk = await openLmdb(path, "2026-01-01T00:00:00Z");
      try {
        for (let round = 0; round < rounds(80, 2_000); round++) {
          await disk.commit(diskBatch(Array.from({ length: 1 + below(300) }, write)));
          expect(await prepareDatabaseFile(path)).toBe("present");
          if (round % 4 > 0) continue;
          await disk.compact(Math.max(disk.meta.compacted, revision - 2_000));
          expect(await prepareDatabaseFile(path)).toBe("present");
          if (round % 8 === 0) await disk.releasePages();
          if (round % 32 > 0) continue;
          await disk.close();
          disk = await openLmdb(path);
        }
        const found = Array.from(disk.objects(), ({ key }) => decodeKey(key).name);
        expect(found.toSorted()).toEqual([...revisionByName.keys()].toSorted());
      } finally {
        await disk.close();
      }
    }),
);
