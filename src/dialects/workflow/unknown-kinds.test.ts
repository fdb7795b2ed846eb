import { expect, test } from "vitest";
import type { WorkflowStep } from "./kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { warnUnknown, warnUnserved } from "./unknown-kinds.ts";

const reference = (apiVersion: string, kind: string): WorkflowStep => ({
  externalRef: { apiVersion, kind, name: "x" },
});
const template = (apiVersion: string, kind: string): WorkflowStep => ({ template: { apiVersion, kind } });

function unknown(...steps: readonly WorkflowStep[]): readonly string[] {
  const found = collectProblems();
  const keyed = Object.fromEntries(steps.map((step, index) => [`s${index}`, step]));
  warnUnknown({ steps: keyed }, found.warn);
  return found.problems.map(({ severity, path, message, hint }) => `${severity}: ${path}: ${message}${hint ?? ""}`);
}

test("kinds that exist, and groups of which nothing is known, are passed", () => {
  expect(
    unknown(
      reference("slipway.dev/v1alpha1", "Workflow"),
      template("slipway.dev/v1alpha1", "RunAction"),
      template("v1", "ConfigMap"),
      template("batch/v1", "CronJob"),
      reference("example.com/v1", "Anything"),
      { container: { image: "i" } },
      { wait: { seconds: 1 } },
    ),
  ).toEqual([]);
});

test("kinds of closed groups that do not exist are warned about at their place, with what was meant", () => {
  expect(
    unknown(template("v1", "ConfigMpa"), reference("slipway.dev/v1alpha1", "Wokflow"), template("v1", "Job")),
  ).toEqual([
    'warning: spec.steps.s0.template.kind: there is no ConfigMpa in v1did you mean "ConfigMap"?',
    'warning: spec.steps.s1.externalRef.kind: there is no Wokflow in slipway.dev/v1alpha1did you mean "Workflow"?',
    "warning: spec.steps.s2.template.kind: there is no Job in v1Job belongs to the group batch",
  ]);
});

test.each<WorkflowStep>([
  template("v1", "${{ params.kind }}"),
  template("${{ params.version }}", "Foo"),
  { template: { kind: "Foo" } },
  { template: { apiVersion: 1, kind: "Foo" } },
  { externalRef: {} },
])("nothing is said of %j, whose kind is not known or is reported elsewhere", (step) => {
  expect(unknown(step)).toEqual([]);
});

test("final steps are looked at too, and a server is asked for every kind, whatever its group", () => {
  const asked: string[] = [];
  const found = collectProblems();
  const serves = (apiVersion: string, kind: string) => {
    asked.push(`${apiVersion} ${kind}`);
    return kind === "ConfigMap";
  };
  warnUnserved(
    { steps: { a: template("v1", "ConfigMap") }, finally: { z: reference("example.com/v1", "Thing") } },
    serves,
    found.warn,
  );
  expect(asked).toEqual(["v1 ConfigMap", "example.com/v1 Thing"]);
  expect(found.problems).toEqual([
    {
      severity: "warning",
      code: "unknown-kind",
      path: "spec.finally.z.externalRef.kind",
      message: "the server serves no Thing in example.com/v1: the step waits until it does",
    },
  ]);
});
