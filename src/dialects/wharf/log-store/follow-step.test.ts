import { expect, test } from "vitest";
import type { StoredLine } from "./record.ts";
import { inDirectory, linesOf, withStore } from "./testing/log-lines.ts";

test("who follows a step gets its lines in its own order, however they arrive, and at the end also those behind a gap", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      const lines = linesOf(2, 1, 3000);
      const until = new AbortController();
      const seen: number[] = [];
      const read = async (pages: AsyncIterable<readonly StoredLine[]>) => {
        for await (const page of pages) seen.push(...page.map(({ workerLogId }) => workerLogId));
      };
      const reading = read(store.followStep(1, 2, { until: until.signal }));
      // The later half first; of the first one line is missing, which never comes.
      await store.insert(1, lines.slice(1500));
      await store.insert(1, linesOf(1, 1, 10));
      await store.insert(1, lines.slice(100, 1500));
      expect(seen).toEqual([]);
      await store.insert(1, lines.slice(0, 50));
      await expect.poll(() => seen.length).toBe(50);
      await store.insert(1, lines.slice(51, 100));
      until.abort();
      await reading;
      expect(seen).toEqual(lines.map(({ workerLogId }) => workerLogId).filter((id) => id !== 51));
    }),
  ));

test("a follower goes on behind a line, and is cut off with the log, or by who reads", () =>
  inDirectory((directory) =>
    withStore(directory, async (store) => {
      await store.insert(1, linesOf(1, 1, 5));
      const until = new AbortController();
      const leave = new AbortController();
      const following = (signal?: AbortSignal) => store.followStep(1, 1, { after: 3, until: until.signal, signal });
      const [one, other] = [following(), following(leave.signal)];
      const first = await one.next();
      expect(first.value?.map(({ workerLogId }) => workerLogId)).toEqual([4, 5]);
      await other.next();
      const cut = expect(other.next()).rejects.toThrow("gone");
      leave.abort(new Error("gone"));
      await cut;
      const removed = expect(one.next()).rejects.toMatchObject({ code: "log-removed" });
      await store.remove(1);
      await removed;
    }),
  ));
