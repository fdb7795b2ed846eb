import { expect, test } from "vitest";
import { formatProblem, type JsonObject } from "#lib/base/index.ts";
import type { WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { checkJobs } from "./job-rules.ts";
import { stepSources } from "./step-source.ts";

function problems(step: WorkflowStep, before?: string): readonly string[] {
  const found = collectProblems();
  if (before !== undefined) found.error(before.split("."), "before", "said before");
  checkJobs(stepSources({ steps: { x: step } }), found);
  return found.problems.map((problem) => formatProblem(problem).replace("spec.steps.x.", ""));
}

const jobOf = (spec: JsonObject, pod: JsonObject = {}, metadata: JsonObject = {}): WorkflowStep => ({
  jobTemplate: {
    spec: {
      ...spec,
      template: { metadata, spec: { restartPolicy: "Never", containers: [{ name: "main", image: "i" }], ...pod } },
    },
  },
});

test("a right Job and a right container are passed", () => {
  expect(problems(jobOf({ parallelism: 2, completions: 3, backoffLimit: 0 }))).toEqual([]);
  expect(problems({ container: { image: "i", command: ["c"], env: [{ name: "A", value: "1" }] } })).toEqual([]);
});

test.each<[string, JsonObject, string]>([
  ["a negative number", { parallelism: -1 }, "parallelism: Invalid value: -1: must be greater than or equal to 0"],
  [
    "a text for a number",
    { backoffLimit: "two" },
    'backoffLimit: Invalid value: "two": must be of type integer, not string',
  ],
  [
    "a misspelt field",
    { completion: 1 },
    'completion: is not a field of a Job, which would be created without it; did you mean "completions"?',
  ],
  ["a field of nothing", { colour: 1 }, "colour: is not a field of a Job, which would be created without it"],
])("%s in the Job is told where it stands", (_what, spec, message) => {
  expect(problems(jobOf(spec))).toEqual([`error: jobTemplate.spec.${message}`]);
});

test("all problems of all parts of a Job at once", () => {
  const pod = { containers: [{ name: "main" }, { name: "main", image: "i", comand: ["x"] }] };
  const found = problems(jobOf({ parallelism: -1, completions: "x" }, pod));
  for (const field of [
    "spec.parallelism",
    "spec.completions",
    "spec.template.spec.containers[0].image",
    "spec.template.spec.containers[1].name",
    "spec.template.spec.containers[1].comand",
  ])
    expect(found).toEqual(expect.arrayContaining([expect.stringContaining(`error: jobTemplate.${field}: `)]));
  expect(found).toHaveLength(5);
});

test.each<[JsonObject, string]>([
  [{ image: "i", env: [{ name: "A", value: 5 }] }, "container.env[0].value: Invalid value: 5: must be of type string"],
  [{ image: "i", env: [{ value: "5" }] }, "container.env[0].name: Required value"],
  [{ image: "i", args: "x" }, 'container.args: Invalid value: "x": must be of type array'],
  [{ image: "i", imagePullPolcy: "Never" }, "container.imagePullPolcy: is not a field of a Job"],
  [{ image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }, "container.volumeMounts[0].name: "],
  [{ image: "i", volumes: [{ name: "v", emptyDir: 5 }] }, "container.volumes[0].emptyDir: Invalid value: 5"],
])("the container %j is refused in its own fields", (container, message) => {
  expect(problems({ container })).toEqual([expect.stringContaining(`error: ${message}`)]);
});

test.each(["${{ params.n }}", "a ${{ params.n }}"])("nothing is said against %j, which is not known yet", (n) => {
  expect(problems(jobOf({ completions: n, parallelism: n }, { activeDeadlineSeconds: n }))).toEqual([]);
  expect(problems({ container: { image: n, args: [n], env: [{ name: "A", value: n }] } })).toEqual([]);
});

test("labels and annotations that are no texts become some when the Job is made", () => {
  expect(problems(jobOf({}, {}, { labels: { tier: 1, on: true }, annotations: { n: 2 } }))).toEqual([]);
});

test("the selector has its own message elsewhere", () => {
  expect(problems(jobOf({ selector: { matchLabels: { a: "b" } }, manualSelector: true }))).toEqual([]);
});

test("what was said about a place is not said again in other words", () => {
  const at = "spec.steps.x.jobTemplate.spec.template.spec.restartPolicy";
  expect(problems(jobOf({}, { restartPolicy: "Always" }), at)).toEqual([
    "error: jobTemplate.spec.template.spec.restartPolicy: said before",
  ]);
});

test("what this server does not carry out is a warning: another one may", () => {
  expect(problems(jobOf({}, { hostPID: true }))).toEqual([
    expect.stringMatching(/^warning: jobTemplate\.spec\.template\.spec\.hostPID: /),
  ]);
});

test.each<WorkflowStep>([
  { jobTemplate: {} },
  { jobTemplate: { spec: 5 } },
  { jobTemplate: { spec: { template: [] } } },
  { wait: { seconds: 1 } },
])("%j is left to other rules", (step) => {
  expect(problems(step)).toEqual([]);
});
