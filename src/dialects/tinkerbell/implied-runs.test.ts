import { expect, test } from "vitest";
import type { CheckedDocument } from "#kernel/dialect/index.ts";
import { documents } from "./document.ts";
import { impliedRuns } from "./implied-runs.ts";

const document = (kind: string, name: string, spec: object, version = "v1alpha1"): CheckedDocument => {
  const object = { apiVersion: `tinkerbell.org/${version}`, kind, metadata: { name }, spec };
  return {
    source: { value: object as never, positionOf: () => ({ file: `${name}.yaml`, line: 1, column: 1 }) },
    object,
  };
};
const template = document("Template", "t", { data: "tasks: []" });
const hardware = (name: string) => document("Hardware", name, {});

const runsOf = (...given: Parameters<typeof impliedRuns>) => {
  const runs = impliedRuns(...given);
  return runs.ok ? runs.value.map(({ value }) => value) : runs.error.map(({ message }) => message);
};

test("a template is run as a workflow of its name", () => {
  expect(runsOf([template], {})).toEqual([
    { apiVersion: "tinkerbell.org/v1alpha1", kind: "Workflow", metadata: { name: "t" }, spec: { templateRef: "t" } },
  ]);
});

test("it is run for the one hardware that is there, or for the one that is named", () => {
  expect(runsOf([hardware("h"), template], {})).toMatchObject([{ spec: { hardwareRef: "h" } }]);
  expect(runsOf([hardware("h"), hardware("i"), template], { hardware: "i" })).toMatchObject([
    { spec: { hardwareRef: "i" } },
  ]);
  expect(runsOf([hardware("h"), hardware("i"), template], {})).toEqual([
    "there are several Hardware (h, i): name one with --hardware, or write a Workflow",
  ]);
  expect(runsOf([hardware("h"), hardware("i")], {})).toEqual([]);
});

test("its workflow is of the template's version", () => {
  const proposed = document("Template", "t", { actions: [] }, "v1alpha2");
  expect(runsOf([proposed], { hardware: "h" })).toMatchObject([
    { apiVersion: "tinkerbell.org/v1alpha2", spec: { templateRef: { name: "t" }, hardwareRef: { name: "h" } } },
  ]);
});

test.each([
  ["v1alpha1", { templateRef: "t", hardwareMap: { a: "1", b: "2" } }, "hardwareMap"],
  [
    "v1alpha2",
    { templateRef: { name: "t" }, hardwareRef: { name: "h" }, templateParams: { a: "1", b: "2" } },
    "templateParams",
  ],
])("arguments of the command line win over those of a %s Workflow", (version, spec, member) => {
  const { source } = document("Workflow", "w", spec, version);
  const { object } = documents.read(source, { arguments: { b: "3", c: "4" } });
  expect(object?.spec).toMatchObject({ [member]: { a: "1", b: "3", c: "4" } });
});
