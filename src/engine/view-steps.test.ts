import { expect, test } from "vitest";
import {
  advance,
  buildPlan,
  newRun,
  pendingStep,
  planStep,
  progressOf,
  runActions,
  stages,
  stepActions,
  viewSteps,
} from "./index.ts";
import { failed, plan, succeeded } from "./testing/build.ts";

const of = plan(
  [
    { id: "deploy", after: ["ask"] },
    { id: "build", retry: { limit: 2, delay: () => 5 } },
    { id: "ask", kind: "approval", after: ["build", "g"] },
    { id: "g", kind: "group", group: plan([{ id: "x" }, { id: "y", after: ["x"] }]) },
  ],
  { final: plan([{ id: "report" }]) },
);

const halfWay = advance(of, advance(of, newRun, [], 1).run, [failed("build"), succeeded("g/x")], 2).run;

test("steps are shown in topological order with what they depend on and what they wait for", () => {
  const shown = viewSteps(of, halfWay).map(({ id, phase, dependencies, waitingFor, rank, group, final }) => ({
    id,
    phase,
    dependencies,
    waitingFor,
    rank,
    ...(group === undefined ? {} : { group }),
    ...(final === undefined ? {} : { final }),
  }));
  expect(shown).toEqual([
    { id: "build", phase: "Waiting", dependencies: [], waitingFor: [], rank: 0 },
    { id: "g", phase: "Running", dependencies: [], waitingFor: [], rank: 0 },
    { id: "g/x", phase: "Succeeded", dependencies: [], waitingFor: [], rank: 0, group: "g" },
    { id: "g/y", phase: "Starting", dependencies: ["g/x"], waitingFor: [], rank: 1, group: "g" },
    { id: "ask", phase: "Pending", dependencies: ["build", "g"], waitingFor: ["build", "g"], rank: 1 },
    { id: "deploy", phase: "Pending", dependencies: ["ask"], waitingFor: ["ask"], rank: 2 },
    { id: "report", phase: "Pending", dependencies: [], waitingFor: [], rank: 0, final: true },
  ]);
});

test("a step that waits says why, until when, and which attempt of how many it is", () => {
  expect(viewSteps(of, halfWay)[0]).toMatchObject({
    name: "build",
    attempt: 1,
    attempts: 3,
    reason: "Backoff",
    message: "attempt 1: Error: exit code 1",
    notBefore: 7,
    actions: ["cancel", "skip"],
    logs: [],
    artifacts: [],
  });
});

test("barriers are looked through", () => {
  const staged = buildPlan(stages([["a", "b"], ["c"]]), [planStep({ id: "c" })]);
  if (!staged.ok) throw new Error("stages are a graph");
  const shown = viewSteps(staged.value, newRun);
  expect(shown.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(shown[2]).toMatchObject({ dependencies: ["a", "b"], waitingFor: ["a", "b"] });
  expect(progressOf(staged.value, newRun)).toEqual({ done: 0, total: 3 });
});

test("progress counts the steps of groups instead of the groups", () => {
  expect(progressOf(of, halfWay)).toEqual({ done: 1, total: 6 });
});

test("steps of a finished run offer nothing", () => {
  const single = plan([{ id: "a" }]);
  const done = advance(single, advance(single, newRun, [], 1).run, [failed("a")], 2).run;
  expect(viewSteps(single, done)[0]?.actions).toEqual([]);
});

test.each([
  [{}, ["cancel", "suspend"]],
  [{ suspendRequested: true as const }, ["cancel", "resume"]],
  [{ closing: "Deadline" as const }, ["cancel"]],
  [{ closing: "Cancel" as const }, ["cancel"]],
  [{ closing: "Cancel" as const, forced: true as const }, []],
  [{ phase: "Failed" as const }, ["retry"]],
])("a run with %j can be asked to %j", (more, expected) => {
  expect(runActions({ ...newRun, ...more })).toEqual(expected);
});

test.each([
  ["Pending", ["cancel", "skip"]],
  ["Waiting", ["cancel", "skip"]],
  ["Running", ["cancel"]],
  ["Suspended", ["approve", "reject", "cancel"]],
  ["Cancelling", []],
  ["Succeeded", []],
] as const)("an approval that is %s can be asked to %j", (phase, expected) => {
  expect(stepActions(planStep({ id: "ask", kind: "approval" }), { ...pendingStep, phase })).toEqual(expected);
});
