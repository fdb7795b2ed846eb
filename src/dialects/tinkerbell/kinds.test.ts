import { expect, test } from "vitest";
import { compileSchema, readStructuralSchema, schemaAsJson, toCrds } from "#lib/schema/index.ts";
import { Agent, Hardware, HardwareV2, Osie, Template, TemplateV2, Workflow, WorkflowV2 } from "./kinds.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "./shape.ts";

const all = [Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2, Osie, Agent];

test("both versions of a kind are one definition, of which the released one is stored", () => {
  const versions = toCrds(all).map(({ metadata, spec }) => [
    metadata.name,
    JSON.stringify(spec).match(/"storage":\w+/g),
  ]);
  expect(versions).toEqual([
    ["hardware.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["templates.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["workflows.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["osies.tinkerbell.org", ['"storage":true']],
    ["agents.slipway.dev", ['"storage":true']],
  ]);
});

test.each(all.map((kind) => [`${kind.kind} ${kind.version}`, kind] as const))(
  "%s has a structural schema",
  (_name, kind) => {
    expect(readStructuralSchema(schemaAsJson(kind.schema), [])).toMatchObject({ ok: true });
  },
);

test("a Workflow of one version does not pass for one of the other", () => {
  const written = (spec: object) => ({ metadata: { name: "w" }, spec: { ...spec } });
  const fields = (kind: typeof Workflow | typeof WorkflowV2, spec: object) =>
    compileSchema(kind.schema)
      .validate({ apiVersion: `tinkerbell.org/${kind.version}`, kind: "Workflow", ...written(spec) })
      .map(({ field }) => field);
  expect(fields(Workflow, { templateRef: "t", hardwareRef: "h" })).toEqual([]);
  expect(fields(Workflow, { templateRef: { name: "t" } })).toEqual(["spec.templateRef"]);
  expect(fields(WorkflowV2, { templateRef: { name: "t" }, hardwareRef: { name: "h" }, timeout: 0 })).toEqual([]);
  expect(fields(WorkflowV2, { templateRef: "t", timeout: 0 })).toEqual(["spec.templateRef"]);
});

test.each([
  [{ templateRef: "t" }, "A"],
  [{}, "A"],
  [undefined, "A"],
  [{ templateRef: { name: "t" }, hardwareRef: { name: "h" } }, "B"],
  [{ tasks: [] }, "C"],
] as const)("the shape of a Workflow is told by its structure: %j is %s", (spec, shape) => {
  expect(shapeOfWorkflow(spec)).toBe(shape);
});

test.each([
  [{ data: "tasks: []" }, "A"],
  [{ actions: [] }, "B"],
  [{}, undefined],
  [undefined, undefined],
] as const)("the shape of a Template is told by its structure: %j is %s", (spec, shape) => {
  expect(shapeOfTemplate(spec)).toBe(shape);
});
