import { expect, test } from "vitest";
import { childLabels, childName, workflowLabel } from "./child-names.ts";

const id = { workflow: "edge", uid: "5f0c", step: "build", attempt: 1 };

test("a child is named after its workflow and its step, with a hash at the end", () => {
  expect(childName(id)).toMatch(/^edge-build-[a-z2-7]{10}$/);
});

test("the same attempt always has the same name", () => {
  expect(childName({ ...id })).toBe(childName(id));
});

test.each([
  ["attempt", { attempt: 2 }],
  ["uid", { uid: "5f0d" }],
  ["step", { step: "Build" }],
])("another %s gives another name", (_what, change) => {
  expect(childName({ ...id, ...change })).not.toBe(childName(id));
});

test("capitals, underscores and dots become what a DNS label allows", () => {
  expect(childName({ ...id, workflow: "a.b", step: "Unit_Test" })).toMatch(/^a-b-unit-test-[a-z2-7]{10}$/);
});

test("a long name is cut to 63 characters without a doubled dash at the cut", () => {
  const name = childName({ ...id, workflow: "w".repeat(51), step: "step" });
  expect(name.length).toBeLessThanOrEqual(63);
  expect(name).toMatch(/^w{51}-[a-z2-7]{10}$/);
});

test("a workflow name longer than 63 is cut and hashed in its label", () => {
  const [one, two] = [workflowLabel(`${"x".repeat(80)}1`), workflowLabel(`${"x".repeat(80)}2`)];
  expect(one).toHaveLength(63);
  expect(one).not.toBe(two);
  expect(workflowLabel("short")).toBe("short");
});

test("labels name the workflow, its uid, the step and the attempt", () => {
  expect(childLabels(id)).toEqual({
    "slipway.dev/workflow": "edge",
    "slipway.dev/workflow-uid": "5f0c",
    "slipway.dev/step": "build",
    "slipway.dev/attempt": "1",
  });
});
