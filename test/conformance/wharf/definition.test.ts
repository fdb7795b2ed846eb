import { expect, test } from "vitest";
import { fileVariables, prepared, told } from "#dialects/wharf/testing/prepared.ts";
import { substitutedDefinition } from "#dialects/wharf/vars.ts";
import { processVariables } from "#dialects/wharf/variables/sources.ts";

/** The example of the specification. */
const example = `inputs:                      # optional, sequence
  - {name: version, type: string, default: "1.0"}
environments:                # optional, map name -> map variable -> scalar
  stage: {cluster: stage-config, replicas: 2}
build:                       # every other top-level key is a stage
  runs-if: success           # optional; success (default) | fail | always
  environments: [stage]      # optional; names declared above
  web:                       # every other key of a stage is a step
    docker: {file: Dockerfile, tag: "\${GIT_COMMIT},latest"}   # exactly one step type
`;

const machine = fileVariables({ GIT_COMMIT: "abc", REG_URL: "reg.example", REPO_GROUP: "g", REPO_NAME: "n" });

test("the example and the smallest definition are read, and printed with their variables", () => {
  const whole = prepared(example, { environment: "stage", surroundings: machine });
  expect(told(whole.diagnostics)).toEqual([]);
  expect(whole.plan?.stages[0]?.steps[0]?.args).toEqual(expect.arrayContaining(["reg.example/g/n/web:abc"]));
  expect(substitutedDefinition(whole)?.text).toContain("tag: abc,latest\n");
  const smallest = prepared("a: {b: {container: {image: x, cmds: [y]}}}\n");
  expect(told(smallest.diagnostics)).toEqual([]);
  expect(substitutedDefinition(smallest)?.data).toEqual({ a: { b: { container: { image: "x", cmds: ["y"] } } } });
});

const base = "x: &base {web: {container: {image: old, cmds: [y]}}, api: {container: {image: api, cmds: [y]}}}\n";

test.each([
  ["before", "s:\n  web: {container: {image: new, cmds: [y]}}\n  <<: *base\n"],
  ["behind", "s:\n  <<: *base\n  web: {container: {image: new, cmds: [y]}}\n"],
  [
    "behind a list of maps",
    "s:\n  <<: [*base, {web: {container: {image: other, cmds: [y]}}}]\n  web: {container: {image: new, cmds: [y]}}\n",
  ],
])("a merged step that is overridden %s the merge key runs once", (_where, text) => {
  const { plan, diagnostics } = prepared(base + text, { stages: ["s"] });
  expect(told(diagnostics)).toEqual([]);
  expect(plan?.stages.flatMap(({ steps }) => steps.map(({ step, image }) => `${step} ${image}`)).sort()).toEqual([
    "api api",
    "web new",
  ]);
});

test("a number is a tag, and a word of the environment a boolean, once they are variables", () => {
  const text = "a: {b: {docker: {file: x, tag: '${BUILD_REF}', destination: z, push: '${P}'}}}\n";
  const { plan, diagnostics } = prepared(text, {
    buildId: 12,
    surroundings: processVariables({ WHARF_VAR_P: "false" }),
  });
  expect(told(diagnostics)).toEqual([]);
  expect(plan?.stages[0]?.steps[0]?.args).toEqual(expect.arrayContaining(["z:12", "--no-push"]));
});

test("what has been substituted is text of a file, too: numbers, words and times", () => {
  const text = "environments: {e: {n: 7, t: 2020-01-01, b: true}}\na: {b: {kubectl: {file: 'f-${n}-${t}-${b}'}}}\n";
  expect(prepared(text, { environment: "e" }).plan?.stages[0]?.steps[0]?.args).toContain("f-7-2020-01-01-true");
});
