import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { workflowAdmission } from "./admission.ts";
import { documents } from "./document.ts";
import { collectProblems, mostProblems } from "#kernel/dialect/index.ts";
import { fullWorkflow } from "./testing/full-graph.ts";
import { validateWorkflow } from "./validate.ts";

// Documents that are far too large are answered, and the answer does not grow with them. How much is done is counted by what
// has to be looked up for each finding: its place.

const workflow = (spec: JsonObject): JsonObject => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "wf" },
  spec,
});
const many = (count: number, value: (n: number) => JsonValue): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, value(n)]));
const box: JsonObject = { container: { image: "i" } };

/** Problems of a document, and how many places were looked up for them. */
function check(spec: JsonObject) {
  let places = 0;
  const found = collectProblems(() => {
    places += 1;
    return undefined;
  });
  validateWorkflow(workflow(spec), found);
  return { problems: found.problems, places };
}

test("1,000 steps are a workflow, main and final ones together", () => {
  expect(check({ steps: many(1_000, () => box) }).problems).toEqual([]);
  expect(check({ steps: many(999, () => box), finally: { last: box } }).problems).toEqual([]);
});

test.each<[string, JsonObject, number]>([
  ["1,001 steps", { steps: many(1_001, () => box) }, 1_001],
  ["a thousand and a final one", { steps: many(1_000, () => box), finally: { last: box } }, 1_001],
  [
    "300,000 steps that are all wrong",
    { steps: many(300_000, () => ({ dependencies: {}, timeoutSeconds: -1 })) },
    300_000,
  ],
])("%s are told to be too many, and nothing else", (_what, spec, count) => {
  const { problems, places } = check(spec);
  expect(problems).toMatchObject([
    { code: "too-many-steps", path: "spec.steps", message: `expected at most 1000 steps, found ${count}` },
  ]);
  expect(places).toBe(1);
});

test("a thousand steps with several mistakes each are told of a thousand", () => {
  const { problems, places } = check({
    steps: many(1_000, () => ({ timeoutSeconds: 0, dependencies: ["x"], when: "1 +" })),
  });
  expect(problems).toHaveLength(mostProblems + 1);
  expect(problems.at(-1)).toMatchObject({ severity: "error", code: "more-problems" });
  expect(places).toBe(mostProblems);
});

test("arguments that nobody declared are many, and only the first of them get a suggestion", () => {
  const params = Array.from({ length: 50 }, (_, n) => ({ name: `param${n}` }));
  const args = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`parm${n % 50}-${n}`, "x"]));
  const { problems } = check({ params, arguments: args, steps: { a: box } });
  expect(problems).toHaveLength(500);
  expect(problems.slice(100).filter(({ hint }) => hint !== undefined)).toEqual([]);
});

test("a specification that is too large is not looked at", () => {
  const large = workflow({ steps: many(2, () => ({ ...box, description: "x".repeat(600_000), timeoutSeconds: -1 })) });
  expect(workflowAdmission.validate(large).causes.map(({ message = "" }) => message)).toEqual([
    expect.stringMatching(/^must not be larger than 1048576 bytes, found \d+$/),
  ]);
});

test("reading and linting such documents gives the same answer with its place", () => {
  const value = workflow({ steps: many(5_000, () => box) });
  const positionOf = (path: readonly (string | number)[]) => ({ line: path.length, column: 1 });
  for (const problems of [documents.read({ value, positionOf }).problems, documents.lint({ value, positionOf })])
    expect(problems).toMatchObject([{ code: "too-many-steps", position: { line: 2, column: 1 } }]);
  expect(isJsonObject(value)).toBe(true);
});

test.each<[string, JsonObject, readonly string[]]>([
  [
    "a broken parameter leaves the others and their arguments to be checked",
    {
      params: [
        { name: "a", type: "strnig" },
        { name: "b", type: "integer" },
        { name: "c", required: true },
      ],
      arguments: { a: 1, b: "x", d: 1 },
    },
    [
      'spec.params[0].type: Unsupported value: "strnig"',
      'spec.arguments.b: expected an integer, found "x"',
      'spec.arguments.c: the parameter "c" is required',
      'spec.arguments.d: no parameter "d" is declared',
    ],
  ],
  [
    "of a parameter whose name cannot be read nobody knows the argument",
    { params: [{ name: 5 }, { name: "c", required: true }], arguments: { d: 1 } },
    ["spec.params[0].name: Invalid value: 5", 'spec.arguments.c: the parameter "c" is required'],
  ],
  [
    "parameters that are no list say nothing about arguments",
    { params: "a, b", arguments: { d: 1 } },
    ['spec.params: Invalid value: "a, b"'],
  ],
  [
    "arguments that are no object are told once, not missed one by one",
    { params: [{ name: "c", required: true }], arguments: [] },
    ["spec.arguments: Invalid value"],
  ],
])("%s", (_what, spec, expected) => {
  const { problems } = check({ ...spec, steps: { a: box } });
  const told = problems.map(({ path, message }) => `${path}: ${message}`);
  expect(told).toEqual(expected.map((start) => expect.stringContaining(start)));
});

test("each dependency of a document is read a bounded number of times", () => {
  const { spec, ...head } = fullWorkflow(60);
  let reads = 0;
  const counting: ProxyHandler<readonly string[]> = {
    get(list, name, receiver) {
      if (typeof name === "string" && /^\d+$/.test(name)) reads += 1;
      return Reflect.get(list, name, receiver);
    },
  };
  const steps = Object.entries(spec.steps ?? {}).map(([key, { dependencies = [], ...step }]) => [
    key,
    { ...step, dependencies: new Proxy(dependencies, counting) },
  ]);
  const document = { ...head, spec: { steps: Object.fromEntries(steps) } } as unknown as JsonObject;
  expect(validateWorkflow(document).problems).toEqual([]);
  expect(reads).toBeLessThanOrEqual(10 * ((60 * 59) / 2));
});
