import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { checkSteps } from "./steps.ts";

const components = [
  { name: "web", type: "webservice", dependsOn: ["db"] },
  { name: "db", type: "webservice" },
];
const apply = (component: string): JsonObject => ({
  name: `apply-${component}`,
  type: "apply-component",
  properties: { component },
});

function warnings(mode: string, ...steps: readonly JsonObject[]): readonly string[] {
  const found = collectProblems();
  checkSteps([...steps], ["spec", "workflow", "steps"], { components, mode }, found);
  return found.problems.map(({ severity, message }) => `${severity}: ${message}`);
}

test("a step that applies a component before one it depends on draws a warning in StepByStep", () => {
  expect(warnings("StepByStep", apply("web"), apply("db"))).toEqual([
    'warning: component "web" depends on "db", which a later step applies',
  ]);
  expect(warnings("StepByStep", apply("db"), apply("web"))).toEqual([]);
  expect(warnings("DAG", apply("web"), apply("db"))).toEqual([]);
});
