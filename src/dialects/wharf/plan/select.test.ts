import { expect, test } from "vitest";
import { prepared, told } from "../testing/prepared.ts";

const step = "{container: {image: x, cmds: [y]}}";
const text = `environments: {prod: {}, dev: {}}
always-here: {a: ${step}, b: ${step}}
for-prod: {environments: [prod], c: ${step}}
for-both:
  runs-if: always
  environments: [prod, dev]
  d: ${step}
`;

function selected(more: Parameters<typeof prepared>[1]) {
  const { plan, diagnostics } = prepared(text, more);
  const stages = plan?.stages.map(({ stageId, name, steps }) => [stageId, name, steps.map(({ stepId }) => stepId)]);
  return { stages, problems: told(diagnostics) };
}

test("without an environment only stages without one are left, with one also those that list it; numbers are those of what is left", () => {
  expect(selected({}).stages).toEqual([[1, "always-here", [1, 2]]]);
  expect(selected({ environment: "dev" }).stages).toEqual([
    [1, "always-here", [1, 2]],
    [2, "for-both", [3]],
  ]);
  expect(selected({ environment: "prod", stages: ["for-prod, for-both"] }).stages).toEqual([
    [1, "for-prod", [1]],
    [2, "for-both", [2]],
  ]);
  expect(selected({ stages: ["ALL"] }).stages).toEqual(selected({}).stages);
});

test("a stage that is not there, and one that is hidden, are told apart", () => {
  expect(selected({ stages: ["for-prd"] })).toMatchObject({
    stages: [],
    problems: ['- error[stage-undefined] : there is no stage "for-prd"'],
  });
  expect(selected({ stages: ["for-prod"], environment: "dev" }).problems).toEqual([
    '3:1 error[stage-undefined] for-prod: the stage "for-prod" does not run with the environment "dev"',
  ]);
  expect(selected({ environment: "nope" }).problems).toEqual([
    '1:1 error[env-undefined] environments: there is no environment "nope"',
  ]);
  expect(prepared("a: {b: {kubectl: {file: x}}}\n", { environment: "nope" }).diagnostics).toMatchObject([
    { code: "env-undefined", path: "environments", hint: "none is declared" },
  ]);
});

test("a variable that is missing in a stage that will not run is only a warning", () => {
  const image = "image: {build: {docker: {file: Dockerfile, tag: latest}}}\ntest: {unit: {kubectl: {file: x}}}\n";
  const severities = (stages: readonly string[]) =>
    prepared(image, { stages }).diagnostics.map(({ severity }) => severity);
  expect(severities(["test"])).toEqual(["warning", "warning", "warning"]);
  expect(severities(["image"])).toEqual(["error", "error", "error"]);
});
