import { expect, test } from "vitest";
import type { StepView } from "#engine/index.ts";
import { gridSteps } from "./grid-steps.ts";

const step = (id: string, more: Partial<StepView> = {}): StepView => ({
  id,
  name: id,
  phase: "Succeeded",
  dependencies: [],
  waitingFor: [],
  rank: 0,
  attempt: 1,
  logs: [],
  artifacts: [],
  actions: [],
  startedAt: 0,
  finishedAt: 10,
  ...more,
});

test("a row for each step, in the order of the newest run, with a gap where a run has no such step", () => {
  const rows = gridSteps([
    { steps: [step("a"), step("b", { phase: "Failed", attempt: 3, finishedAt: 30 })] },
    undefined,
    { steps: [step("old"), step("a", { finishedAt: 20 })] },
  ]);
  expect(rows).toEqual([
    { id: "a", name: "a", medianMs: 20, cells: [{ phase: "Succeeded", ms: 10 }, null, { phase: "Succeeded", ms: 20 }] },
    { id: "b", name: "b", medianMs: 30, cells: [{ phase: "Failed", ms: 30, attempt: 3 }, null, null] },
    { id: "old", name: "old", medianMs: 10, cells: [null, null, { phase: "Succeeded", ms: 10 }] },
  ]);
});
