import { expect, test } from "vitest";
import { atOnce, deepFreeze } from "#lib/base/index.ts";
import type { Workflow } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileAhead, compileWorkflow } from "./compile.ts";

const workflow = (metadata: Workflow["metadata"] = {}): Workflow => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "build", namespace: "default", uid: "1", ...metadata },
  spec: { steps: { one: { container: { image: "alpine" } } } },
});

test("a stored workflow is compiled once, in whatever versions it comes", () => {
  const stored = deepFreeze(workflow());
  const compiled = compileWorkflow(stored);
  expect(compiled).toBeDefined();
  expect(compileWorkflow({ ...stored, metadata: { ...stored.metadata, resourceVersion: "7" } })).toBe(compiled);
});

test("what expressions see of the workflow is part of what was compiled", () => {
  const stored = deepFreeze(workflow());
  const compiled = compileWorkflow(stored);
  for (const change of [{ name: "other" }, { namespace: "other" }, { uid: "2" }, { labels: { a: "b" } }]) {
    const other = compileWorkflow({ ...stored, metadata: { ...stored.metadata, ...change } });
    expect(other).not.toBe(compiled);
    expect(other?.identity).toMatchObject(change);
  }
});

test("a document that may have been edited since is compiled anew", () => {
  const draft = workflow();
  expect(compileWorkflow(draft)).not.toBe(compileWorkflow(draft));
});

test("a workflow that was compiled ahead is not compiled again under its own name", () => {
  const draft = workflow({ name: "ahead" });
  atOnce(compileAhead(draft));
  const compiled = compileWorkflow(draft);
  expect(compiled?.steps).toBe(compileWorkflow(draft)?.steps);
  expect(compileWorkflow({ ...draft, metadata: { ...draft.metadata, name: "other" } })?.steps).not.toBe(
    compiled?.steps,
  );
});

test("a workflow with a fault is compiled again for its problems", () => {
  const wrong = { ...workflow(), spec: { steps: { one: { wait: { seconds: 1 }, dependencies: ["x"] } } } };
  atOnce(compileAhead(wrong));
  const found = collectProblems();
  expect(compileWorkflow(wrong, found)).toBeUndefined();
  expect(found.problems.map(({ code }) => code)).toEqual(["unknown-dependency"]);
});

test("problems are reported each time they are asked for", () => {
  const wrong = deepFreeze({
    ...workflow(),
    spec: { steps: { one: { container: { image: "a" }, dependencies: ["x"] } } },
  });
  const codes = () => {
    const found = collectProblems();
    expect(compileWorkflow(wrong, found)).toBeUndefined();
    return found.problems.map(({ code }) => code);
  };
  expect(codes()).toHaveLength(1);
  expect(codes()).toEqual(codes());
});

const run = (name: string, spec: Workflow["spec"], namespace = "default") =>
  compileWorkflow({ ...workflow({ name, namespace, uid: name }), spec: structuredClone(spec) });

test("runs of equal specifications share what was compiled, and keep their own identity", () => {
  const spec = { steps: { shared: { container: { image: "alpine" } } } };
  const [first, second, third] = ["a", "b", "c"].map((name) => run(name, spec));
  expect(second?.steps).not.toBe(first?.steps);
  expect(third?.steps).toBe(second?.steps);
  expect(third?.plan.graph).toBe(second?.plan.graph);
  expect([second, third].map((compiled) => compiled?.identity.uid)).toEqual(["b", "c"]);
});

test("what is shared is out of reach of those who gave it", () => {
  const mine = { steps: { reach: { container: { image: "alpine" } } } };
  for (const name of ["a", "b", "c"]) compileWorkflow({ ...workflow({ name }), spec: mine });
  mine.steps.reach.container.image = "changed";
  const later = run("d", { steps: { reach: { container: { image: "alpine" } } } });
  expect(later?.steps.get("reach")?.step.container).toEqual({ image: "alpine" });
});

test("a reference that may lead back is judged for each name anew, and a namespace for each namespace", () => {
  const toOther = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "other" };
  const referring = { steps: { wait: { externalRef: toOther } } };
  expect(["a", "b", "c", "other"].map((name) => run(name, referring) !== undefined)).toEqual([true, true, true, false]);
  const template = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default" } };
  const placed = { steps: { map: { template } } };
  expect(["a", "b", "c"].map((name) => run(name, placed) !== undefined)).toEqual([true, true, true]);
  expect(run("d", placed, "elsewhere")).toBeUndefined();
});

test("warnings are told of each run", () => {
  const externalRef = { apiVersion: "v1", kind: "ConfigMap", name: "map" };
  const spec = { steps: { one: { container: { image: "a" } }, two: { externalRef, dependencies: ["one"] } } };
  const warned = ["a", "b", "c"].map((name) => {
    const found = collectProblems();
    compileWorkflow({ ...workflow({ name }), spec: structuredClone(spec) }, found);
    return found.problems.length;
  });
  expect(warned[0]).toBeGreaterThan(0);
  expect(new Set(warned).size).toBe(1);
});

test("definitions that were not used for long are forgotten", () => {
  const numbered = (index: number) => run("x", { steps: { [`s${index}`]: { container: { image: "a" } } } });
  numbered(0);
  const kept = numbered(0);
  expect(numbered(0)?.steps).toBe(kept?.steps);
  for (let index = 1; index <= 64; index++) numbered(index);
  expect(numbered(0)?.steps).not.toBe(kept?.steps);
});
