import { setMaxListeners } from "node:events";
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mostIntervals } from "./interval-set.ts";
import { allLines, inDirectory, lineOf, linesOf, stepLines, withStore } from "./testing/log-lines.ts";

test("what the disk does not take is told, and is taken when it comes again; what it took is there once", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 3), true);
      // In the way of the file of step 2.
      const inTheWay = join(directory, "1", "2.log");
      await mkdir(inTheWay);
      const batch = [...linesOf(1, 4, 5), ...linesOf(2, 1, 2)];
      await expect(store.insert(1, batch, true)).rejects.toMatchObject({ code: "log-lost" });
      await expect(store.insert(1, batch, true)).rejects.toMatchObject({ code: "log-lost" });
      await rmdir(inTheWay);
      expect(await store.insert(1, batch, true)).toMatchObject({ inserted: 2, duplicates: 2 });
      expect(await store.cursors(1)).toEqual([
        { stepId: 1, lastWorkerLogId: 5 },
        { stepId: 2, lastWorkerLogId: 2 },
      ]);
      const lines = await allLines(store, 1);
      expect(lines.map(({ message }) => message)).toEqual(
        [...linesOf(1, 1, 3), ...batch].map(({ message }) => message),
      );
      expect(lines.every(({ logId }, at) => at === 0 || logId > (lines[at - 1]?.logId ?? 0))).toBe(true);
    }),
  ));

test("who brings lines in batches is told when one was lost in between, although the disk is well again", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 3), true);
      const intake = await store.intake(1);
      const inTheWay = join(directory, "1", "2.log");
      await mkdir(inTheWay);
      expect(await intake.insert(linesOf(2, 1, 2))).toMatchObject({ inserted: 2 });
      await expect(store.flushed(1)).rejects.toMatchObject({ code: "log-lost" });
      await rmdir(inTheWay);
      await store.insert(1, linesOf(1, 4, 4), true);
      await expect(intake.flushed()).rejects.toMatchObject({ code: "log-lost" });
      intake.close();
      expect(await store.insert(1, linesOf(2, 1, 2), true)).toEqual({ inserted: 2, duplicates: 0 });
    }),
  ));

test("a follower is cut off when lines are lost, and goes on when it comes again", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 3), true);
      const over = new AbortController();
      const seen: string[] = [];
      const follow = async (): Promise<void> => {
        for await (const { lines } of store.lines(1, { after: seen.length, until: over.signal }))
          seen.push(...lines.map(({ message }) => message));
      };
      const following = follow();
      await expect.poll(() => seen.length).toBe(3);
      const inTheWay = join(directory, "1", "2.log");
      await mkdir(inTheWay);
      await expect(store.insert(1, linesOf(2, 1, 2), true)).rejects.toMatchObject({ code: "log-lost" });
      await expect(following).rejects.toMatchObject({ code: "log-lost" });
      await rmdir(inTheWay);
      await store.insert(1, linesOf(2, 1, 2), true);
      over.abort();
      await follow();
      expect(seen).toEqual([...linesOf(1, 1, 3), ...linesOf(2, 1, 2)].map(({ message }) => message));
    }),
  ));

test("one gap more than are kept track of is refused; the missing lines make room", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const odd = Array.from({ length: mostIntervals }, (_, at) => lineOf(1, 2 * at + 1));
      await store.insert(1, odd);
      const more = [lineOf(1, 2 * mostIntervals + 3)];
      const refused = { count: 1, reason: { code: "log-gaps" } };
      expect(await store.insert(1, [...more, lineOf(2, 1), lineOf(1, 1)])).toMatchObject({
        inserted: 1,
        duplicates: 1,
        refused,
      });
      await store.insert(1, [lineOf(1, 2)]);
      expect(await store.insert(1, more)).toEqual({ inserted: 1, duplicates: 0 });
      expect(await stepLines(store, 1, 1, 2 * mostIntervals - 2)).toMatchObject([
        { workerLogId: 2 * mostIntervals - 1 },
        { workerLogId: 2 * mostIntervals + 3 },
      ]);
    }),
  ));

test("bytes that the disk has changed are told, and cut off by the next start", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "1", "1.log");
    await withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 5), true);
      await writeFile(path, Buffer.alloc(60), { flag: "r+" });
      await expect(allLines(store, 1)).rejects.toMatchObject({ code: "log-damaged" });
      await expect(stepLines(store, 1, 1)).rejects.toMatchObject({ code: "log-damaged" });
    });
    await writeFile(path, Buffer.alloc(1000, 7));
    await withStore(directory, async (store) => {
      expect(await allLines(store, 1)).toEqual([]);
      expect(await store.insert(1, linesOf(1, 1, 2), true)).toMatchObject({ inserted: 2 });
    });
  }));

test("100 followers who come at any time each see every line once, in order, and the end", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const total = 20_000;
      const over = new AbortController();
      setMaxListeners(0, over.signal);
      const follow = async (): Promise<number> => {
        let last = 0;
        for await (const { lines } of store.lines(1, { after: 0, until: over.signal }))
          for (const { logId } of lines) {
            if (logId !== last + 1) throw new Error(`line ${logId} came where ${last + 1} was due`);
            last = logId;
          }
        return last;
      };
      const following: Promise<number>[] = [];
      for (let from = 1; from <= total; from += 100) {
        await store.insert(1, linesOf((from % 8) + 1, from, from + 99));
        if (following.length < 100) following.push(follow());
        await new Promise(setImmediate);
      }
      over.abort();
      expect(await Promise.all(following)).toEqual(following.map(() => total));
      expect(following).toHaveLength(100);
    }),
  ));
