import { expect, test } from "vitest";
import { deferred, type Deferred } from "#lib/base/index.ts";
import { type LineFrames, readLines } from "../worker-api/line-frames.ts";
import { framesOf } from "../worker-api/testing/line-frames.ts";
import { LineForwarder } from "./carry-lines.ts";

const lines = (from: number, count: number, message = "x"): LineFrames =>
  framesOf(Array.from({ length: count }, (_, at) => ({ stepId: 1, logId: from + at, time: undefined, message })));

/** Sends that end when the test says so. */
function held() {
  const sent: { readonly ids: readonly number[]; readonly done: Deferred<void> }[] = [];
  const send = (batch: LineFrames): Promise<void> => {
    const done = deferred<void>();
    sent.push({ ids: readLines(batch).map(({ logId }) => logId), done });
    return done.promise;
  };
  return { sent, send };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test("the first lines go at once; those that come meanwhile go together, also when no more come", async () => {
  const { sent, send } = held();
  const forwarder = new LineForwarder(send);
  await forwarder.add(lines(1, 1));
  await forwarder.add(lines(2, 1));
  await forwarder.add(lines(3, 2));
  expect(sent.map(({ ids }) => ids)).toEqual([[1]]);
  sent[0]?.done.resolve();
  await settle();
  expect(sent.map(({ ids }) => ids)).toEqual([[1], [2, 3, 4]]);
  sent[1]?.done.resolve();
  await forwarder.flush();
});

test("batches go one after the other, in order; adding waits while a full one waits", async () => {
  const { sent, send } = held();
  const forwarder = new LineForwarder(send, { lines: 10, bytes: 1_000_000 });
  let added = false;
  const adding = forwarder.add(lines(1, 25)).then(() => (added = true));
  await settle();
  expect(sent.map(({ ids }) => ids.length)).toEqual([10]);
  expect(added).toBe(false);
  sent[0]?.done.resolve();
  await adding;
  const flushed = forwarder.flush();
  await settle();
  expect(sent.map(({ ids }) => ids.length)).toEqual([10, 10]);
  sent[1]?.done.resolve();
  await settle();
  sent[2]?.done.resolve();
  await flushed;
  expect(sent.flatMap(({ ids }) => ids)).toEqual(Array.from({ length: 25 }, (_, at) => at + 1));
});

test("long lines make a batch full, too", async () => {
  const { sent, send } = held();
  const forwarder = new LineForwarder(send, { lines: 1000, bytes: 3000 });
  const adding = forwarder.add(lines(1, 4, "y".repeat(2000)));
  await settle();
  sent[0]?.done.resolve();
  await adding;
  expect(sent.map(({ ids }) => ids)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  sent[1]?.done.resolve();
  await forwarder.flush();
});

test("what cannot be sent ends everything", async () => {
  const forwarder = new LineForwarder(() => Promise.reject(new Error("no such build")));
  await forwarder.add(lines(1, 1));
  await expect(forwarder.flush()).rejects.toThrow("no such build");
  await expect(forwarder.add(lines(2, 1))).rejects.toThrow("no such build");
});
