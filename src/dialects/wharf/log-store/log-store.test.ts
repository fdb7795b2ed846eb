import { truncate, stat, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { NewLine } from "./record.ts";
import { allLines, inDirectory, lineOf, linesOf, stepLines, withStore } from "./testing/log-lines.ts";

test("lines are numbered in order of arrival across steps, and read back as they came", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const odd: NewLine = {
        stepId: 2,
        workerLogId: 1,
        time: { seconds: -62_135_596_800, nanos: 0 },
        message: "år\u{1f600}\0",
      };
      expect(await store.insert(7, [lineOf(1, 1), odd, lineOf(1, 2)])).toEqual({ inserted: 3, duplicates: 0 });
      expect(await allLines(store, 7)).toEqual([
        { logId: 1, ...lineOf(1, 1) },
        { logId: 2, ...odd },
        { logId: 3, ...lineOf(1, 2) },
      ]);
      expect(await allLines(store, 7, 2)).toHaveLength(1);
      expect(await allLines(store, 8)).toEqual([]);
      expect(await store.counts(7)).toEqual({ lines: 3, bytes: 2 * "step 1 line 1".length + 8 });
    }),
  ));

test("1,000 lines thrice in random order are 1,000 lines; the cursor stays before the first gap", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const lines = linesOf(3, 1, 1000);
      const shuffled = [...lines, ...lines, ...lines]
        .map((line, at) => ({ line, key: (at * 7919) % 3001 }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ line }) => line);
      const withGap = shuffled.filter(({ workerLogId }) => workerLogId !== 421);
      expect(await store.insert(1, withGap)).toEqual({ inserted: 999, duplicates: 1998 });
      expect(await store.cursors(1)).toEqual([{ stepId: 3, lastWorkerLogId: 420 }]);
      expect(await store.insert(1, shuffled, true)).toEqual({ inserted: 1, duplicates: 2999 });
      expect(await store.cursors(1)).toEqual([{ stepId: 3, lastWorkerLogId: 1000 }]);
      expect((await stepLines(store, 1, 3)).map(({ message }) => message)).toEqual(lines.map(({ message }) => message));
      expect((await stepLines(store, 1, 3, 998)).map(({ workerLogId }) => workerLogId)).toEqual([999, 1000]);
      expect((await allLines(store, 1)).map(({ logId }) => logId)).toEqual(lines.map((_, at) => at + 1));
    }),
  ));

test("a line without a number of its own is always new, and belongs to step 0", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const line = { ...lineOf(5, 0), message: "from outside" };
      await store.insert(1, [lineOf(0, 2), line, lineOf(0, 1), line, lineOf(0, 1)]);
      const found = await stepLines(store, 1, 0);
      expect(found.map(({ workerLogId, logId }) => [workerLogId, logId])).toEqual([
        [0, 2],
        [0, 4],
        [1, 3],
        [2, 1],
      ]);
      expect(await stepLines(store, 1, 5)).toEqual([]);
    }),
  ));

test("everything is there after a restart, and numbers go on", () =>
  inDirectory(async (directory) => {
    await withStore(directory, (store) => store.insert(1, [...linesOf(1, 1, 3000), ...linesOf(2, 5, 2000)], true));
    await withStore(directory, async (store) => {
      expect(await store.cursors(1)).toEqual([
        { stepId: 1, lastWorkerLogId: 3000 },
        { stepId: 2, lastWorkerLogId: 0 },
      ]);
      expect(await store.insert(1, [...linesOf(1, 2999, 3001), ...linesOf(2, 1, 4)])).toEqual({
        inserted: 5,
        duplicates: 2,
      });
      expect((await allLines(store, 1)).map(({ logId }) => logId)).toEqual(
        Array.from({ length: 5001 }, (_, at) => at + 1),
      );
      expect((await stepLines(store, 1, 2)).map(({ workerLogId }) => workerLogId)).toEqual(
        Array.from({ length: 2000 }, (_, at) => at + 1),
      );
      expect(await store.builds()).toEqual([1]);
    });
  }));

test("a segment cut at any byte of its last three records is completed", () =>
  inDirectory(async (directory) => {
    const lines = linesOf(1, 1, 9);
    const path = join(directory, "1", "1.log");
    await withStore(directory, (store) => store.insert(1, lines.slice(0, 6), true));
    const kept = (await stat(path)).size;
    await withStore(directory, (store) => store.insert(1, lines.slice(6), true));
    const whole = await readFile(path);
    const third = (whole.length - kept) / 3;
    for (let size = kept; size < whole.length; size++) {
      await writeFile(path, whole);
      await truncate(path, size);
      await withStore(directory, async (store) => {
        const present = 6 + Math.floor((size - kept) / third);
        expect(await store.cursors(1)).toEqual([{ stepId: 1, lastWorkerLogId: present }]);
        expect(await store.insert(1, lines, true)).toEqual({ inserted: 9 - present, duplicates: present });
        expect((await stepLines(store, 1, 1)).map(({ message }) => message)).toEqual(
          lines.map(({ message }) => message),
        );
      });
      expect((await readFile(path)).equals(whole)).toBe(true);
    }
  }));

test("a removed build is gone, whoever follows it is told, and it may begin anew", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 10));
      const following = (async () => {
        for await (const { lines } of store.lines(1, { after: 0, until: new AbortController().signal }))
          if (lines.at(-1)?.logId === 10) await store.remove(1);
      })();
      await expect(following).rejects.toMatchObject({ code: "log-removed" });
      expect(await store.builds()).toEqual([]);
      await store.remove(1);
      await store.insert(1, [lineOf(1, 1)]);
      expect(await allLines(store, 1)).toEqual([{ logId: 1, ...lineOf(1, 1) }]);
    }),
  ));

test("many builds share few open files and little memory", () =>
  inDirectory((directory) =>
    withStore(
      directory,
      async (store) => {
        for (const round of [0, 1])
          await Promise.all(
            Array.from({ length: 40 }, (_, build) =>
              store.insert(build + 1, linesOf((build % 3) + 1, 1 + 10 * round, 15 + 10 * round)),
            ),
          );
        for (let build = 1; build <= 40; build++) expect(await store.counts(build)).toMatchObject({ lines: 25 });
      },
      { openFiles: 4, idleBuilds: 3 },
    ),
  ));
