import { expect, test } from "vitest";
import {
  alwaysGate,
  buildPlan,
  defaultGate,
  failureGate,
  formatGraphProblem,
  noRetry,
  planStep,
  stages,
} from "./index.ts";

test("a step is plain work unless something else is said", () => {
  expect(planStep({ id: "a", priority: 3 })).toEqual({
    id: "a",
    kind: "work",
    gate: defaultGate,
    retry: noRetry,
    onFailure: "Fail",
    priority: 3,
  });
  expect(noRetry.delay(1)).toBe(0);
});

test("a gate that always runs is known as one that runs after failures", () => {
  expect(planStep({ id: "a", gate: alwaysGate }).afterFailure).toBe(true);
  expect(planStep({ id: "a", gate: failureGate }).afterFailure).toBe(true);
  expect(planStep({ id: "a", gate: alwaysGate, afterFailure: false }).afterFailure).toBe(false);
});

test("steps are put where their nodes are, whatever order they come in", () => {
  const built = buildPlan(stages([["b"], ["a"]]), [
    planStep({ id: "a", priority: 1 }),
    planStep({ id: "b", priority: 2 }),
  ]);
  expect(built.ok && built.value.steps.map(({ kind, priority }) => `${kind} ${priority}`)).toEqual([
    "work 2",
    "barrier 0",
    "work 1",
  ]);
  expect(built.ok && built.value.policy).toEqual({ strategy: "Continue" });
});

test("a node without a step is the plainest one", () => {
  const built = buildPlan([{ id: "a", dependsOn: [] }], []);
  expect(built.ok && built.value.steps).toEqual([planStep({ id: "a" })]);
});

test("problems of the graph come out, and limits are passed on", () => {
  const nodes = [
    { id: "a", dependsOn: ["b"] },
    { id: "c", dependsOn: [] },
  ];
  const built = buildPlan(nodes, []);
  expect(built.ok ? [] : built.error.map(formatGraphProblem)).toEqual(['"a" depends on "b", which does not exist']);
  const small = buildPlan(nodes, [], { limits: { nodes: 1, edges: 1 } });
  expect(small.ok ? [] : small.error).toEqual([{ kind: "tooLarge", what: "nodes", count: 2, limit: 1 }]);
});
