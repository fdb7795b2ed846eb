import { expect, test } from "vitest";
import { type ChildFact, newRun, pendingStep, type RunState } from "#engine/index.ts";
import { OutputRoom } from "./output-room.ts";

/** `{"x":"…"}` of so many bytes. */
const outputsOf = (bytes: number) => ({ x: "v".repeat(bytes - 8) });
const runWith = (...sizes: readonly number[]): RunState => ({
  ...newRun,
  steps: Object.fromEntries(sizes.map((bytes, n) => [`s${n}`, { ...pendingStep, outputs: outputsOf(bytes) }])),
});
const success = (bytes: number): ChildFact => ({
  kind: "child",
  step: "a",
  attempt: 1,
  state: { is: "succeeded", outputs: outputsOf(bytes) },
});

test("outputs that just fit are admitted, and one byte more is not", () => {
  const run = runWith(200_000, 60_000);
  expect(new OutputRoom(run).admit(success(2_144))).toEqual(success(2_144));
  expect(new OutputRoom(run).admit(success(2_145)).state).toMatchObject({
    is: "failed",
    reason: "OutputTooLarge",
    message: expect.stringContaining("262145 bytes together, at most 262144 are kept"),
    retryable: false,
  });
});

test("successes of one pass take the room from each other, and those that find none leave it to smaller ones", () => {
  const room = new OutputRoom(runWith(262_000));
  const states = [100, 100, 44].map((bytes) => room.admit(success(bytes)).state.is);
  expect(states).toEqual(["succeeded", "failed", "succeeded"]);
});

test("a round of a loop takes the place of the round before, an item stands beside the others", () => {
  const run = runWith(262_144);
  const again: ChildFact = { ...success(262_144), step: "s0" };
  expect(new OutputRoom(run).admit(again)).toBe(again);
  expect(new OutputRoom(run).admit({ ...success(9), step: "s0", item: { index: 1, attempt: 1 } }).state.is).toBe(
    "failed",
  );
});

test("steps that have given nothing take no room", () => {
  const run = runWith(262_144 - 9);
  const silent = { ...run, steps: { ...run.steps, a: pendingStep, b: pendingStep } };
  expect(new OutputRoom(silent).admit(success(9)).state.is).toBe("succeeded");
});

test("what is no success, or gives nothing, needs no room", () => {
  const room = new OutputRoom(runWith(262_144));
  for (const state of [{ is: "alive" }, { is: "succeeded" }, { is: "gone" }] as const) {
    const fact: ChildFact = { kind: "child", step: "a", attempt: 1, state };
    expect(room.admit(fact)).toBe(fact);
  }
});
