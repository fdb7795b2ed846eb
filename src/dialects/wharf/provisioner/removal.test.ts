import { expect, test } from "vitest";
import type { Observed } from "./backend.ts";
import { nextRemovalStep, usualRemoval } from "./removal.ts";

const running: Observed = { phase: "running", isAlive: true, status: "Running" };
const finished: Observed = { phase: "finished", isAlive: true, status: "Success", finishedAt: 5000 };
const step = (seen: Observed, now: number, isForced = false, deletedAt = 10_000) =>
  nextRemovalStep(seen, { deletedAt, isForced }, now, usualRemoval);

test("a build that runs is cancelled, and killed when that takes too long", () => {
  expect(step(running, 10_000)).toEqual({ act: "cancel", at: 10_500 });
  expect(step(running, 39_999)).toMatchObject({ act: "cancel" });
  expect(step(running, 40_000)).toMatchObject({ act: "kill" });
  expect(step({ ...running, phase: "starting" }, 10_000)).toMatchObject({ act: "cancel" });
});

test("results are served for a while after the end, or after somebody wanted them gone", () => {
  expect(step(finished, 10_000)).toEqual({ at: 70_000 });
  expect(step({ ...finished, finishedAt: 20_000 }, 30_000)).toEqual({ at: 80_000 });
  expect(step(finished, 70_000)).toEqual({ act: "terminate", at: 70_500 });
  expect(step(finished, 80_000)).toMatchObject({ act: "kill" });
  expect(step({ ...finished, isAlive: false }, 69_999)).toEqual({ at: 70_000 });
  expect(step({ ...finished, isAlive: false }, 70_000)).toEqual({ act: "remove", at: 70_000 });
});

test("with force nothing is waited for", () => {
  expect(step(running, 10_000, true)).toMatchObject({ act: "terminate" });
  expect(step(finished, 10_000, true)).toMatchObject({ act: "terminate" });
  expect(step(running, 20_000, true)).toMatchObject({ act: "kill" });
  expect(step({ ...finished, isAlive: false }, 10_000, true)).toMatchObject({ act: "remove" });
});

test("what was never started goes at once", () => {
  expect(step({ phase: "absent", isAlive: false, status: "Scheduling" }, 10_000)).toMatchObject({ act: "remove" });
});

test("an end in the future keeps nobody for ever", () => {
  expect(step({ ...finished, finishedAt: 9_000_000 }, 10_000)).toEqual({ at: 70_000 });
});
