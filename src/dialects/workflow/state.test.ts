import { expect, test } from "vitest";
import { newRun, type RunState, type StepState } from "#engine/index.ts";
import { decodeRun, encodeRun } from "./state.ts";

const at = Date.UTC(2026, 0, 1);
const run: RunState = {
  ...newRun,
  phase: "Running",
  startedAt: at,
  steps: { a: { phase: "Running", attempt: 2, startedAt: at + 250, reason: "x" } },
};

test("a workflow without a status has not moved, and an unmoved run adds nothing to it", () => {
  expect(decodeRun(undefined)).toEqual(newRun);
  expect(encodeRun(newRun, undefined)).toEqual({});
});

test("instants keep their milliseconds", () => {
  expect(encodeRun(run, undefined)).toEqual({
    phase: "Running",
    startTime: "2026-01-01T00:00:00.000Z",
    statuses: { a: { phase: "Running", attempt: 2, startTime: "2026-01-01T00:00:00.250Z", reason: "x" } },
  });
});

test("what the dialect adds to a step stands beside what the engine says, and stays", () => {
  const reference = { kind: "Job", name: "j" };
  const status = encodeRun(run, undefined, undefined, new Map([["a", { reference, complete: false }]]));
  expect(status.statuses?.["a"]).toMatchObject({ reference, complete: false, phase: "Running" });
  const later: RunState = { ...run, steps: { a: { phase: "Succeeded", attempt: 2 } } };
  expect(encodeRun(later, status).statuses?.["a"]).toEqual({
    phase: "Succeeded",
    attempt: 2,
    reference,
    complete: false,
  });
});

test("entries of steps that did not change are shared with the status before", () => {
  const status = encodeRun(run, undefined);
  const before = decodeRun(status);
  const next: RunState = { ...before, steps: { ...before.steps, b: { phase: "Starting", attempt: 1 } } };
  expect(encodeRun(next, status, before).statuses?.["a"]).toBe(status.statuses?.["a"]);
});

test("a step that the run no longer holds leaves the status", () => {
  const status = encodeRun(run, undefined);
  expect(encodeRun({ ...run, steps: {} }, status).statuses).toEqual({});
});

test("a step named like an inherited member is a step like any other", () => {
  const step: StepState = { phase: "Running", attempt: 1 };
  const odd: RunState = { ...run, steps: Object.fromEntries([["constructor", step]]) };
  expect(decodeRun(encodeRun(odd, undefined)).steps["constructor"]).toEqual(step);
});

test("approvals are kept as they were written, and new ones are added", () => {
  const written = [{ by: "anna", time: "2026-01-01T00:00:00Z", values: { tag: "v1" } }, { time: "no time" }];
  const status = {
    phase: "Suspended" as const,
    statuses: { ask: { phase: "Suspended" as const, approvals: written } },
  };
  const decoded = decodeRun(status);
  expect(decoded.steps["ask"]?.approvals).toEqual([{ by: "anna", at, values: { tag: "v1" } }, { at: 0 }]);
  expect(encodeRun(decoded, status)).toEqual(status);
  const ask: StepState = {
    phase: "Suspended",
    attempt: 0,
    approvals: [...(decoded.steps["ask"]?.approvals ?? []), { by: "ben", at: at + 5 }],
  };
  expect(encodeRun({ ...decoded, steps: { ask } }, status).statuses?.["ask"]?.approvals).toEqual([
    ...written,
    { by: "ben", time: "2026-01-01T00:00:00.005Z" },
  ]);
});
