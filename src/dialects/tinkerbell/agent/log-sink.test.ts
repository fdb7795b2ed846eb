import { expect, test } from "vitest";
import { feedStart } from "#kernel/streams/index.ts";
import type { CallOptions } from "#kernel/rpc/index.ts";
import { newPush } from "./log-push.ts";
import { logFeaturesIn, logSink } from "./log-sink.ts";

const { signal } = new AbortController();
const piece = { stream: "stdout", at: 0, data: Buffer.from("a\n"), place: feedStart } as const;

/** A channel whose calls are sent and answered when the test says so. */
function heldChannel() {
  const calls: { readonly options: CallOptions; readonly answer: (received: readonly object[]) => void }[] = [];
  const send = (_method: unknown, _messages: unknown, options: CallOptions) =>
    new Promise((resolve) => calls.push({ options, answer: (received) => resolve({ received }) }));
  return { calls, channel: { send } as unknown as Parameters<typeof logSink>[0] };
}

test("a server says by its features whether it takes logs, and whether their calls may overlap", () => {
  expect(logFeaturesIn("resume")).toBeUndefined();
  expect(logFeaturesIn("")).toBeUndefined();
  expect(logFeaturesIn("logs,resume")).toEqual({ overlap: false });
  expect(logFeaturesIn("logs, logs-overlap, of-tomorrow")).toEqual({ overlap: true });
});

test("a server that says nothing of overlapping calls gets one at a time, as it was always called", async () => {
  const { calls, channel } = heldChannel();
  const sink = logSink(channel, { authorization: "Bearer t" }, { overlap: false });
  expect(sink.mostCalls).toBe(1);
  const push = newPush("w", "a");
  const answer = sink.push(push, [piece], signal);
  await expect.poll(() => calls.length).toBe(1);
  expect(calls[0]?.options.headers).toEqual({ authorization: "Bearer t", "x-slipway-log-source": push.source });
  calls[0]?.answer([{ workflowId: "w", actionId: "a", seq: 1n }]);
  expect(await answer).toBe(1);
});

test("a call that may overlap begins when the one before is sent, and not when it is answered", async () => {
  const { calls, channel } = heldChannel();
  const sink = logSink(channel, {}, { overlap: true });
  expect(sink.mostCalls).toBeGreaterThan(1);
  const push = newPush("w", "a");
  const answers = [1, 2].map((seq) => sink.push({ ...push, seq: seq - 1 }, [piece], signal));
  await expect.poll(() => calls.length).toBe(1);
  calls[0]?.options.onSent?.();
  await expect.poll(() => calls.length).toBe(2);
  expect(calls[1]?.options.headers).toMatchObject({ "x-slipway-log-overlap": "true" });
  for (const [at, call] of calls.entries()) call.answer([{ workflowId: "w", actionId: "a", seq: BigInt(at + 1) }]);
  expect(await Promise.all(answers)).toEqual([1, 2]);
});

test("an answer that does not name the log is a failed call, and not a server that has nothing of it", async () => {
  const { calls, channel } = heldChannel();
  const sink = logSink(channel, {}, { overlap: false });
  const answer = sink.push({ ...newPush("w", "a"), seq: 7 }, [], signal);
  await expect.poll(() => calls.length).toBe(1);
  calls[0]?.answer([{ workflowId: "w", actionId: "b", seq: 7n }]);
  await expect(answer).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
