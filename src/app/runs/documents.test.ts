import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { objectsOf, readDocuments, type ReadRequest } from "./documents.ts";
import { readParams } from "#kernel/command/index.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-documents-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const workflow = (spec: string, name = "wf"): string =>
  `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const good = workflow("{activeDeadlineSeconds: 9, steps: {a: {container: {image: i}}}}");

/** Reads files of these texts, named 1.yaml, 2.yaml and so on. */
async function read(texts: readonly string[], more: Partial<ReadRequest> = {}) {
  const names = texts.map((_, index) => `${index + 1}.yaml`);
  await Promise.all(texts.map((text, index) => writeFile(join(directory, names[index] ?? ""), text)));
  const found = await readDocuments(names, { directory, ...more });
  return { ...found, told: found.problems.map(formatProblem) };
}

test("documents come in the order of files and within them, each with who understands it", async () => {
  const plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
  const found = await read([`${plain}---\n${good}`, good]);
  expect(found.told).toEqual([]);
  expect(found.documents.map(({ file, dialect, object }) => [file, dialect?.name, object?.kind])).toEqual([
    ["1.yaml", undefined, "ConfigMap"],
    ["1.yaml", "workflow", "Workflow"],
    ["2.yaml", "workflow", "Workflow"],
  ]);
  expect(objectsOf(found).map(({ object }) => object.kind)).toEqual(["ConfigMap", "Workflow", "Workflow"]);
});

test("problems of a file are told in the order of their places, whoever found them", async () => {
  const { problems } = await read([
    workflow(
      "\n  parallelism: none\n  stepz: {}\n  steps:\n    b: {wait: {seconds: 0}}\n    a: {contaner: {}, wait: {seconds: 1}}",
    ),
  ]);
  expect(problems.map(({ position, code }) => [position?.line, code])).toEqual([
    [5, "not-positive"],
    [6, "unknown-field"],
    [8, "not-positive"],
    [9, "unknown-field"],
  ]);
});

test("problems of all files are told at once, and then there are no objects at all", async () => {
  const found = await read([
    good,
    workflow("{steps: {a: {}}}"),
    "a: [",
    "",
    "---\n---\n",
    "apiVersion: v1\n",
    "- just\n- a list\n",
    workflow("{steps: {b: {wait: {seconds: 0}}}}"),
  ]);
  expect(found.told).toEqual([
    expect.stringContaining("2.yaml:4:19: error: spec.steps.a: exactly one of "),
    expect.stringMatching(/^3\.yaml:\d+:\d+: error: /),
    "4.yaml:1:1: error: the file contains no document",
    "5.yaml:1:1: error: the file contains no document",
    "6.yaml:1:1: error: neither a document of a known dialect nor a Kubernetes object: expected apiVersion and kind",
    "7.yaml:1:1: error: neither a document of a known dialect nor a Kubernetes object: expected apiVersion and kind",
    "8.yaml:4:36: error: spec.steps.b.wait.seconds: must be a positive integer, found 0",
  ]);
  expect(objectsOf(found)).toEqual([]);
});

test.each([
  ["apiVersion: 1\nkind: Pod", false],
  ["apiVersion: v1\nkind: [Pod]", false],
  ["kind: Pod", false],
  ["apiVersion: v1\nkind: Pod", true],
  ["apiVersion: example.com/v1\nkind: Whatever", true],
])("%j is an object for the server: %s", async (text, isObject) => {
  const found = await read([text]);
  expect(objectsOf(found)).toHaveLength(isObject ? 1 : 0);
  expect(found.problems.map(({ code }) => code)).toEqual(isObject ? [] : ["unknown-document"]);
});

test("a kind that Kubernetes does not have is warned about, with what was meant, and stays an object", async () => {
  const found = await read([
    "apiVersion: v1\nkind: Pdo\n---\napiVersion: v1\nkind: Foo\n---\napiVersion: v1\nkind: Job\n",
  ]);
  expect(found.told).toEqual([
    '1.yaml:2:7: warning: kind: there is no Pdo in v1 (did you mean "Pod"?)',
    "1.yaml:5:7: warning: kind: there is no Foo in v1",
    "1.yaml:8:7: warning: kind: there is no Job in v1 (Job belongs to the group batch)",
  ]);
  expect(objectsOf(found)).toHaveLength(3);
});

test("warnings stop nobody, and what is unwise is told to lint alone", async () => {
  const unbounded = workflow("{steps: {a: {container: {image: i}}}}");
  expect((await read([unbounded])).told).toEqual([]);
  const linted = await read([unbounded], { lint: true });
  expect(linted.told).toEqual([expect.stringContaining("1.yaml:4:7: warning: spec: no deadline and no timeout")]);
  expect(objectsOf(linted)).toHaveLength(1);
});

test("arguments of the command line go to every document that has parameters", async () => {
  const text = workflow(
    "{activeDeadlineSeconds: 9, params: [{name: num, type: integer}], steps: {a: {wait: {seconds: 1}}}}",
  );
  const found = await read([text], { arguments: { num: "7" } });
  expect(objectsOf(found)[0]?.object.spec).toMatchObject({ arguments: { num: 7 } });
});

test("an argument that cannot be read is not called missing as well, but others are", async () => {
  const params = "params: [{name: num, type: integer, required: true}, {name: who, required: true}]";
  const text = workflow(`{activeDeadlineSeconds: 9, ${params}, steps: {a: {wait: {seconds: 1}}}}`);
  const found = await read([text], { arguments: { num: "x" } });
  expect(found.problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'spec.arguments.num: expected an integer, found "x"',
    'spec.arguments.who: the parameter "who" is required',
  ]);
});

const siteTemplate = `apiVersion: slipway.dev/v1alpha1
kind: WorkflowTemplate
metadata: {name: site}
spec: {activeDeadlineSeconds: 9, params: [{name: num, type: integer, maximum: 5}, {name: who, required: true}], steps: {a: {wait: {seconds: 1}}}}
`;

test("arguments of a run of a template are read by its params, wherever the template stands", async () => {
  const run = workflow("{templateRef: {name: site}}");
  for (const texts of [
    [siteTemplate, run],
    [run, siteTemplate],
  ]) {
    const found = await read(texts, { arguments: { num: "3", who: "7" } });
    const runs = objectsOf(found).filter(({ object }) => object.kind === "Workflow");
    expect(runs.map(({ object }) => object.spec)).toEqual([
      { templateRef: { name: "site" }, arguments: { num: 3, who: "7" } },
    ]);
  }
});

test("what does not fit the params of a template is told as for params of the run itself", async () => {
  const run = workflow("{templateRef: {name: site}}");
  const told = async (given: Readonly<Record<string, string>>) =>
    (await read([run, siteTemplate], { arguments: given })).problems.map(({ path, message }) => `${path}: ${message}`);
  expect(await told({ num: "x", wo: "a" })).toEqual([
    'spec.arguments.num: expected an integer, found "x"',
    'spec.arguments.who: the parameter "who" is required',
    'spec.arguments.wo: no parameter "wo" is declared',
  ]);
  expect(await told({ num: "7", who: "a" })).toEqual(["spec.arguments.num: expected at most 5, found 7"]);
  const linted = await read([run, siteTemplate], { lint: true });
  expect(linted.problems).toMatchObject([{ severity: "warning", code: "missing-argument" }]);
});

test("lint sees all documents of a command line together, whatever files they are in", async () => {
  const runs = (name: string, other: string) =>
    siteTemplate
      .replace("name: site", `name: ${name}`)
      .replace("{wait: {seconds: 1}}", `{workflow: {templateRef: {name: ${other}}}}`);
  const texts = [runs("a", "b"), good, runs("b", "a")];
  expect((await read(texts, { lint: true })).problems.filter(({ code }) => code === "recursion")).toMatchObject([
    { position: { file: "1.yaml" }, message: 'the template "a" contains itself: a -> b -> a' },
    { position: { file: "3.yaml" }, message: 'the template "b" contains itself: b -> a -> b' },
  ]);
  expect((await read(texts)).problems.filter(({ code }) => code === "recursion")).toEqual([]);
});

test("what stands against carrying documents out together is told by whoever reads them", async () => {
  const caller = workflow("{steps: {s: {workflow: {templateRef: {name: site}, arguments: {who: x, num: 7}}}}}");
  expect((await read([siteTemplate, caller])).told).toEqual([
    expect.stringMatching(/^2.yaml:4:.*: error: spec.steps.s.workflow.arguments.num: expected at most 5, found 7$/),
  ]);
});

test("lint warns of objects of kinds that nobody here knows, unless their definition stands among the documents", async () => {
  const argo = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {entrypoint: main}\n";
  const ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n";
  const definition = (kind: string) =>
    `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: argoproj.io, names: {kind: ${kind}}}\n`;
  const lint = async (...texts: readonly string[]) => (await read(texts, { lint: true })).told;
  const told = [
    "1.yaml:2:7: warning: kind: unknown kind Workflow in argoproj.io/v1alpha1: it was not checked (a server accepts it only with its CustomResourceDefinition, which can be among the documents)",
  ];
  expect(await lint(argo, ingress, good)).toEqual(told);
  expect(await lint(argo, definition("CronWorkflow"))).toEqual(told);
  expect(await lint(argo, definition("Workflow"))).toEqual([]);
  // Its own server may have the definition, and says so itself otherwise.
  expect((await read([argo])).told).toEqual([]);
});

test("pairs are cut at the first equals sign, the last of a name wins, and all others are told", () => {
  expect(readParams(["a=1", "b=", "c=x=y", "a=2"])).toEqual({ values: { a: "2", b: "", c: "x=y" }, problems: [] });
  const { values, problems } = readParams(["a=1", "=2", "nothing", ""]);
  expect(values).toEqual({ a: "1" });
  expect(problems.map(formatProblem)).toEqual([
    'error: expected --param name=value, found "=2"',
    'error: expected --param name=value, found "nothing"',
    'error: expected --param name=value, found ""',
  ]);
  expect(readParams(["__proto__=x"]).values).toEqual(Object.fromEntries([["__proto__", "x"]]));
});
