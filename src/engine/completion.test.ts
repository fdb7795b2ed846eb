import { expect, test } from "vitest";
import { type CompletionRule, completionOf } from "./index.ts";

const condition = (type: string, status: "True" | "False", more: object = {}) => ({ type, status, ...more });

const rules: readonly CompletionRule[] = [
  {
    kinds: [{ group: "batch", kind: "Job" }],
    succeeded: [{ condition: "Complete", status: "True" }],
    failed: [{ condition: "Failed", status: "True" }],
  },
  {
    kinds: [{ group: "", kind: "Pod" }],
    succeeded: [{ path: ["status", "phase"], oneOf: ["Succeeded"] }],
    failed: [{ path: ["status", "phase"], oneOf: ["Failed"] }],
  },
  { kinds: [{ group: "", kind: "ConfigMap" }], succeeded: [{ exists: true }], failed: [] },
  {
    kinds: [{ group: "core.oam.dev", kind: "Application" }],
    succeeded: [
      {
        all: [
          { path: ["status", "workflow", "finished"], oneOf: [true] },
          { path: ["status", "observedGeneration"], equals: "generation" },
          { path: ["status", "ready"], equals: ["spec", "replicas"] },
        ],
      },
    ],
    failed: [],
  },
  {
    succeeded: [{ condition: "workflow-progress", status: "True", reason: "Succeeded" }],
    failed: [{ condition: "Succeeded", status: "False" }],
  },
];

const job = (...conditions: object[]) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { generation: 2 },
  status: { conditions },
});

test.each([
  ["a Job without conditions", job(), "running"],
  ["a complete Job", job(condition("Complete", "True")), "succeeded"],
  [
    "a Job that is both, because failure is looked at first",
    job(condition("Complete", "True"), condition("Failed", "True")),
    "failed",
  ],
  ["a condition of this generation", job(condition("Failed", "True", { observedGeneration: 2 })), "failed"],
  ["a condition of an older generation", job(condition("Failed", "True", { observedGeneration: 1 })), "running"],
  ["a Job of another group", { ...job(condition("Complete", "True")), apiVersion: "example.com/v1" }, "running"],
  ["a succeeded Pod", { apiVersion: "v1", kind: "Pod", status: { phase: "Succeeded" } }, "succeeded"],
  ["a running Pod", { apiVersion: "v1", kind: "Pod", status: { phase: "Running" } }, "running"],
  ["a ConfigMap", { apiVersion: "v1", kind: "ConfigMap" }, "succeeded"],
  ["a kind nobody knows, without conditions", { apiVersion: "example.com/v1", kind: "Thing" }, "unknown"],
  [
    "a kind nobody knows, with conditions",
    { apiVersion: "example.com/v1", kind: "Thing", status: { conditions: [condition("Ready", "True")] } },
    "running",
  ],
  [
    "the general rule with its reason",
    { kind: "Thing", status: { conditions: [condition("workflow-progress", "True", { reason: "Succeeded" })] } },
    "succeeded",
  ],
  [
    "the general rule with another reason",
    { kind: "Thing", status: { conditions: [condition("workflow-progress", "True", { reason: "Other" })] } },
    "running",
  ],
  ["the general rule for a kind with its own", job(condition("Succeeded", "False")), "failed"],
])("%s is %j", (_name, object, expected) => {
  expect(completionOf(object, rules)).toBe(expected);
});

test.each([
  [1, "failed"],
  [2, "running"],
  [3, "running"],
])("a condition about generation 1 since generation %i: %s", (since, expected) => {
  const object = job(condition("Failed", "True", { observedGeneration: 1 }));
  expect(completionOf(object, rules, since)).toBe(expected);
});

const application = (status: object) => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { generation: 3 },
  spec: { replicas: 2 },
  status,
});

test.each([
  [{ workflow: { finished: true }, observedGeneration: 3, ready: 2 }, "succeeded"],
  [{ workflow: { finished: true }, observedGeneration: 2, ready: 2 }, "running"],
  [{ workflow: { finished: false }, observedGeneration: 3, ready: 2 }, "running"],
  [{ workflow: { finished: true }, observedGeneration: 3, ready: 1 }, "running"],
])("all tests of a list must hold: %j is %s", (status, expected) => {
  expect(completionOf(application(status), rules)).toBe(expected);
});

test.each([
  undefined,
  null,
  5,
  "x",
  [],
  { status: null },
  { status: { conditions: "none" } },
  { status: { conditions: [null, 3] } },
])("nonsense like %j is nobody's success", (object) => {
  expect(["unknown", "running"]).toContain(completionOf(object, rules));
});

test("two absent values are not equal", () => {
  const rule: CompletionRule = { succeeded: [{ path: ["a"], equals: ["b"] }], failed: [] };
  expect(completionOf({}, [rule])).toBe("unknown");
});
