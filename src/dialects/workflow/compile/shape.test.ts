import { expect, test } from "vitest";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { checkReserved, checkStepCount, checkSteps, isStepKey } from "./shape.ts";
import { stepSources } from "./step-source.ts";

const job: WorkflowStep = { container: { image: "busybox" } };

function problems(spec: WorkflowSpec): readonly string[] {
  const found = collectProblems();
  checkSteps(stepSources(spec), found.error);
  checkReserved(spec, stepSources(spec), found.error);
  return found.problems.map((p) => `${p.path}: ${p.message}`);
}

test("a workflow needs a step", () => {
  expect(problems({})).toEqual(["spec.steps: at least one step is required"]);
  expect(problems({ steps: {}, finally: { last: job } })).toEqual(["spec.steps: at least one step is required"]);
});

test("an empty step and a step with two union members are refused", () => {
  const all = "exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required";
  expect(problems({ steps: { x: {}, y: { ...job, wait: { seconds: 1 } } } })).toEqual([
    `spec.steps.x: ${all}, found none`,
    `spec.steps.y: ${all}, found container and wait`,
  ]);
});

test.each(["a.b", "", "x".repeat(64), "-a", "a_", "ä", "a b"])("%j is no key", (key) => {
  expect(isStepKey(key)).toBe(false);
  expect(problems({ steps: { [key]: job } })[0]).toContain("expected a key of 1 to 63 letters");
});

test.each(["a", "A-b_c", "9", "x".repeat(63), "constructor"])("%j is a key", (key) => {
  expect(problems({ steps: { [key]: job } })).toEqual([]);
});

test("1,000 steps are allowed, 1,001 are refused", () => {
  const found = collectProblems();
  expect(checkStepCount(1_000, found.error)).toBe(true);
  expect(checkStepCount(1_001, found.error)).toBe(false);
  expect(found.problems).toMatchObject([
    { path: "spec.steps", code: "too-many-steps", message: "expected at most 1000 steps, found 1001" },
  ]);
});

test("a key may stand in steps or in finally, not in both", () => {
  expect(problems({ steps: { a: job }, finally: { a: job } })).toEqual([
    'spec.finally.a: the key "a" is used in steps and in finally',
  ]);
});

test("two keys that differ only in - and _ are refused", () => {
  expect(problems({ steps: { "a-b": job, a_b: job } })).toEqual([
    'spec.steps.a_b: "a_b" and "a-b" have the same name in expressions',
  ]);
});

test("fields of later versions are refused by their name", () => {
  const steps = {
    a: { ...job, pendingTimeoutSeconds: 1 },
    b: { http: {} },
  };
  expect(problems({ steps, archive: true })).toEqual([
    "spec.archive: this version does not carry the archive",
    "spec.steps.a.pendingTimeoutSeconds: this version does not carry pendingTimeoutSeconds",
    "spec.steps.b.http: this version does not carry http steps",
  ]);
});

test("a later field that asks for nothing is let through", () => {
  expect(problems({ steps: { a: job }, archive: false })).toEqual([]);
});

test("steps come in byte order, final ones last, and their own fields win whole over the defaults", () => {
  const sources = stepSources({
    stepDefaults: { retry: { limit: 3, factor: 1 }, timeoutSeconds: 9 },
    steps: { b: job, a: { ...job, retry: { limit: 1 } } },
    finally: { A: job },
  });
  expect(sources.map((source) => source.key)).toEqual(["a", "b", "A"]);
  expect(sources[0]?.step).toEqual({ ...job, retry: { limit: 1 }, timeoutSeconds: 9 });
  expect(sources[0]?.written).toEqual({ ...job, retry: { limit: 1 } });
});
