import { expect, test } from "vitest";
import { deepFreeze } from "#lib/base/index.ts";
import type { Workflow } from "../kinds.ts";
import { collectProblems } from "../problems.ts";
import { compileWorkflow } from "./compile.ts";

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
