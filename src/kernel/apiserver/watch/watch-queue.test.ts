import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { WatchEvent } from "#kernel/kit/index.ts";
import { configMapKind } from "../kinds/small-kinds.ts";
import { served } from "../testing/write-steps.ts";
import { WatchQueue } from "./watch-queue.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const configMaps = served(configMapKind);

const newQueue = (maxBytes = 1_000_000) => {
  let cuts = 0;
  const queue = new WatchQueue(configMaps, maxBytes, () => void cuts++);
  return { queue, events: queue.events(), cuts: () => cuts };
};

const revisionOf = ({ object }: WatchEvent) => Number(object.metadata.resourceVersion);

async function taken(events: AsyncGenerator<WatchEvent, void>): Promise<WatchEvent> {
  const { value } = await events.next();
  if (value === undefined) throw new Error("the watch has ended");
  return value;
}

test("a reader that is always one event behind does not keep what it has taken", async () => {
  const { queue, events } = newQueue();
  queue.bookmark(0, false);
  queue.bookmark(1, false);
  const first = new WeakRef(await taken(events));
  for (let revision = 2; revision < 5_000; revision++) {
    queue.bookmark(revision, false);
    expect(revisionOf(await taken(events))).toBe(revision - 1);
  }
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(first.deref()).toBeUndefined();
  expect(revisionOf(await taken(events))).toBe(4_999);
});

test("who waits for the reader is told when it has taken everything, not before", async () => {
  const { queue, events } = newQueue();
  await queue.drained();
  queue.bookmark(1, false);
  queue.bookmark(2, false);
  let drained = false;
  const draining = queue.drained().then(() => (drained = true));
  await taken(events);
  expect(drained).toBe(false);
  await taken(events);
  await draining;
});

test("bookmarks cut nobody by themselves; the next change is judged with them", () => {
  const { queue, cuts } = newQueue(250);
  for (let revision = 1; revision <= 3; revision++) queue.bookmark(revision, false);
  expect(cuts()).toBe(0);
  queue.changes([], []);
  expect(cuts()).toBe(1);
});

test("what waits is still yielded after the end", async () => {
  const { queue, events } = newQueue();
  queue.bookmark(7, true);
  queue.end();
  expect(revisionOf(await taken(events))).toBe(7);
  expect(await events.next()).toEqual({ value: undefined, done: true });
});
