import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import type { WorkflowSpec } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileBare, compileBody, type ExpressionScope, gateBinding } from "./expressions.ts";
import { stepsByName } from "./shape.ts";
import { stepSources } from "./step-source.ts";

const spec: WorkflowSpec = {
  params: [{ name: "region" }, { name: "count", type: "integer" }],
  steps: { "unit-test": { outputs: { coverage: {} } }, build: { outputs: { image: {}, digest: {} } }, other: {} },
};
const scope = (more: Partial<ExpressionScope> = {}): ExpressionScope => ({
  spec,
  steps: stepsByName(stepSources(spec)),
  isVisible: (key) => key === "build" || key === "unit-test",
  site: "body",
  final: false,
  user: 'step "deploy"',
  ...more,
});

function bare(source: string, more: Partial<ExpressionScope> = {}) {
  const found = collectProblems();
  const compiled = compileBare(source, scope(more), ["spec", "x"], found.error);
  return { compiled, problems: found.problems.map(({ message }) => message) };
}

test("an expression tells which steps it uses, under the name it uses", () => {
  const { compiled } = bare(
    "steps.unit_test.outputs.coverage > 80 && steps.build.phase == 'Succeeded' && steps.build.attempt > 1",
  );
  expect(compiled?.uses).toEqual([
    { alias: "unit_test", key: "unit-test" },
    { alias: "build", key: "build" },
  ]);
});

test("a key with a dash can also be written in brackets", () => {
  expect(bare('steps["unit-test"].outputs.coverage').compiled?.uses).toEqual([
    { alias: "unit-test", key: "unit-test" },
  ]);
});

test.each([
  ["params.regoin", 'column 1: no parameter "regoin", did you mean "region"'],
  ["steps.biuld.phase", 'column 1: no step "biuld", did you mean "build"'],
  ["steps.other.phase", 'column 1: step "deploy" does not depend on "other", so its results are not known'],
  ["steps.build.phsae", 'column 1: no step field "phsae", did you mean "phase"'],
  ["steps.build.outputs.imge", 'column 1: no output of "build" "imge", did you mean "image"'],
  ["size(steps)", "column 6: steps must be followed by the key of a step"],
  ["workflow.nmae", 'column 1: no workflow field "nmae", did you mean "name"'],
])("%s is wrong", (source, message) => {
  expect(bare(source)).toEqual({ compiled: undefined, problems: [message] });
});

test.each(["params", "toJson(params)", "workflow.labels.app", "steps.build.outputs", "params.count + 1"])(
  "%s is right",
  (source) => {
    expect(bare(source).problems).toEqual([]);
  },
);

test("every wrong name of one expression is reported", () => {
  expect(bare("params.one + params.two").problems).toHaveLength(2);
});

test.each<[string, ExpressionScope["site"], boolean]>([
  ["object.status.x", "body", false],
  ["object.status.x", "completion", true],
  ["result.x", "output", true],
  ["exitCode == 1", "retry", true],
  ["exitCode == 1", "gate", false],
  ["always()", "gate", true],
  ["always()", "body", false],
])("%s at the site %s: %s", (source, site, isRight) => {
  expect(bare(source, { site }).problems.length === 0).toBe(isRight);
});

test("only final steps know how the run went", () => {
  expect(bare("run.phase == 'Failed'").compiled).toBeUndefined();
  expect(bare("run.phase == 'Failed' && size(run.failed) > 0", { final: true }).problems).toEqual([]);
  expect(bare("run.outcome", { final: true }).problems).toEqual(['column 1: no run field "outcome"']);
});

test("without a graph every step may be named: its cycle is reported elsewhere", () => {
  expect(bare("steps.other.phase", { isVisible: () => true }).problems).toEqual([]);
});

test.each([
  ["success()", "ok", true],
  ["success()", "bad", false],
  ["failure()", "bad", true],
  ["failure()", "ok", false],
  ["always()", "bad", true],
])("the status function %s over dependencies that are %s", (source, answer, expected) => {
  const { compiled } = bare(source, { site: "gate" });
  expect(compiled?.program.evaluate({ [gateBinding]: answer })).toEqual({ ok: true, value: expected });
});

test("hash gives equal values equal names", () => {
  const hashOf = (value: JsonValue) => bare("hash(params)").compiled?.program.evaluate({ params: value });
  expect(hashOf({ a: 1, b: 2 })).toEqual(hashOf({ b: 2, a: 1 }));
  expect(hashOf({ a: 1 })).not.toEqual(hashOf({ a: 2 }));
});

function body(document: JsonValue) {
  const found = collectProblems();
  const compiled = compileBody(document, scope(), ["spec", "x"], found.error);
  return { compiled, problems: found.problems.map(({ path, message }) => `${path}: ${message}`) };
}

test("expressions of a document are found wherever they stand", () => {
  const { compiled, problems } = body({
    a: ["${{ params.region }}", { b: "x ${{ steps.build.outputs.image }}" }],
    c: 1,
  });
  expect(problems).toEqual([]);
  expect(compiled?.uses).toEqual([{ alias: "build", key: "build" }]);
  const steps = { build: { outputs: { image: "i" } } };
  expect(compiled?.template.evaluate({ params: { region: "eu" }, steps })).toEqual({
    ok: true,
    value: { a: ["eu", { b: "x i" }], c: 1 },
  });
});

test("columns count from the start of the text people see", () => {
  expect(body({ a: "to ${{ params.regoin }}" }).problems).toEqual([
    'spec.x.a: column 8: no parameter "regoin", did you mean "region"',
  ]);
});

test("a text that cannot be read does not hide what is wrong with the others", () => {
  const { problems } = body({ a: "${{ 1 + }}", b: ["${{ params.regoin }}"], c: "${{ params.region }}" });
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatch(/^spec\.x\.a: column \d+: /);
  expect(problems[1]).toBe('spec.x.b[0]: column 5: no parameter "regoin", did you mean "region"');
});

test("an item and its axes are known where the step fans out, and never to its gate", () => {
  const each = { local: ["item", "index"], axes: ["os", "node"] };
  expect(bare("item.os + string(index)", each).problems).toEqual([]);
  expect(bare("item.oss", each).problems).toEqual(['column 1: no axis "oss", did you mean "os"']);
  expect(bare("item.anything", { local: ["item", "index"] }).problems).toEqual([]);
  expect(bare("item.os").problems).toHaveLength(1);
  expect(bare("item.os", { ...each, site: "gate" }).problems).toHaveLength(1);
});
