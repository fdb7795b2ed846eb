import { expect, test } from "vitest";
import type { Stored } from "#kernel/model/index.ts";
import type { StepStatus, Workflow } from "../kinds.ts";
import { compilationOf, conflictsOf, Memories, runOf } from "./memory.ts";

function workflow(
  more: {
    readonly uid?: string;
    readonly version?: string;
    readonly generation?: number;
    readonly a?: StepStatus;
  } = {},
): Stored<Workflow> {
  const { uid = "u1", version = "1", generation = 1, a } = more;
  return {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: {
      name: "wf",
      namespace: "default",
      uid,
      resourceVersion: version,
      creationTimestamp: "2026-01-01T00:00:00Z",
      generation,
    },
    spec: { steps: { a: { container: { image: "i" } } } },
    ...(a === undefined ? {} : { status: { phase: "Running", statuses: { a } } }),
  };
}
const key = "default/wf";

test("a workflow created again under its name is not remembered", () => {
  const memories = new Memories();
  const first = memories.of(key, workflow());
  expect(memories.of(key, workflow({ version: "2" }))).toBe(first);
  expect(memories.of(key, workflow({ uid: "u2" }))).not.toBe(first);
});

test("a version is known as an own write until somebody else writes", () => {
  const memories = new Memories();
  runOf(memories.of(key, workflow()), workflow());
  expect(memories.isOwnWrite(workflow())).toBe(true);
  expect(memories.isOwnWrite(workflow({ version: "2" }))).toBe(false);
  memories.forget(key);
  expect(memories.isOwnWrite(workflow())).toBe(false);
});

test("the run of a version is read once", () => {
  const memory = new Memories().of(key, workflow());
  const { run } = runOf(memory, workflow());
  expect(runOf(memory, workflow()).run).toBe(run);
  expect(runOf(memory, workflow({ version: "2" })).run).not.toBe(run);
});

test("a workflow is compiled once per generation, and anew when its labels or its template change", () => {
  const memory = new Memories().of(key, workflow());
  const compilation = (object: Stored<Workflow>, template = "") =>
    compilationOf(memory, object, { spec: object.spec, template });
  const compiled = compilation(workflow());
  expect(compilation(workflow({ version: "2" }))).toBe(compiled);
  expect(compilation(workflow(), "3")).not.toBe(compiled);
  expect(compilation(workflow({ generation: 2 }))).not.toBe(compiled);
  const labelled = {
    ...workflow({ generation: 2 }),
    metadata: { ...workflow({ generation: 2 }).metadata, labels: { a: "b" } },
  };
  expect(compilation(labelled).compiled?.identity.labels).toEqual({ a: "b" });
});

function conflicts(a: StepStatus): readonly string[] {
  const object = workflow({ a });
  const memory = new Memories().of(key, object);
  const { compiled } = compilationOf(memory, object, { spec: object.spec, template: "" });
  return compiled === undefined ? ["it does not compile"] : conflictsOf(memory, object, compiled);
}

test.each<[string, StepStatus, boolean]>([
  ["that is running", { phase: "Running", attempt: 1, templateHash: "other" }, true],
  ["that has ended", { phase: "Succeeded", attempt: 1, templateHash: "other" }, true],
  ["that pauses between attempts", { phase: "Waiting", attempt: 1, templateHash: "other" }, true],
  ["that was never started", { phase: "Waiting", attempt: 0 }, false],
  ["that is to be repeated", { phase: "Pending", attempt: 1, earlierAttempts: 1, templateHash: "other" }, false],
  ["that waits to be repeated", { phase: "Waiting", attempt: 1, earlierAttempts: 1, templateHash: "other" }, false],
])("a changed step %s: conflict %s", (_what, entry, expected) => {
  expect(conflicts(entry)).toEqual(expected ? ["a"] : []);
});
