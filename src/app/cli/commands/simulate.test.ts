import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

// No test of this file has a control plane: what is simulated needs none.

let cli: CommandLine;

beforeAll(async () => {
  cli = await commandLine();
  const container = { image: "i" };
  await file("two", {
    a: { container, retry: { limit: 1, initialSeconds: 1 } },
    b: { container, dependencies: ["a"] },
  });
  await file("fan", { probe: { container, forEach: { items: [1, 2, 3] } } });
  await file("late", { a: { wait: { seconds: 90 } } }, { activeDeadlineSeconds: 60 });
  await file("named", { a: { container } }, { params: [{ name: "who", type: "string", required: true }] });
  await file("still", { a: { container } }, { suspend: true });
});

afterAll(() => cli.close());

async function file(name: string, steps: JsonObject, spec: JsonObject = {}): Promise<void> {
  const object = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec: { ...spec, steps } };
  await writeFile(join(cli.directory, `${name}.json`), JSON.stringify(object));
}

const simulate = (...words: readonly string[]) => cli.run("simulate", ...words);

test("what happens is told in order with its time, then how every step and the run end", async () => {
  const { code, out, err } = await simulate("two.json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out.split("\n")).toEqual([
    "[  0.0s] two: Running",
    "[  0.0s] a: Running",
    "[  1.0s] a: Succeeded",
    "[  1.0s] b: Running",
    "[  2.0s] b: Succeeded",
    "[  2.0s] two: Succeeded",
    "",
    "STEP   PHASE       TRIES   START   END    REASON",
    "a      Succeeded   1       0.0s    1.0s",
    "b      Succeeded   1       1.0s    2.0s",
    "",
    "two: Succeeded after 2.0s",
    "",
  ]);
});

test("a step fails as often as it is told to, and the code is that of a run", async () => {
  const once = await simulate("two.json", "--fail", "a:1");
  expect(once).toMatchObject({ code: 0, out: expect.stringContaining("a: Succeeded, attempt 2\n") });
  const always = await simulate("two.json", "--fail", "a", "-o", "json");
  expect(always.code).toBe(1);
  expect(JSON.parse(always.out)).toMatchObject({
    name: "two",
    phase: "Failed",
    reason: "StepFailed",
    exitCode: 1,
    steps: [
      { step: "a", phase: "Failed", attempts: 2, startSeconds: 0 },
      { step: "b", phase: "Skipped", reason: "DependencyFailed", attempts: 0 },
    ],
  });
  const { out } = await simulate("fan.json", "--fail", "probe[2]");
  expect(out).toContain("probe[2]: Failed");
});

test("a deadline ends with 4, a run that goes nowhere with 1, wrong words with 2", async () => {
  expect(await simulate("late.json")).toMatchObject({ code: 4, out: expect.stringContaining("Failed after 60s") });
  expect(await simulate("still.json")).toMatchObject({ code: 1, out: expect.stringContaining("still: Suspended") });
  expect(await simulate("named.json")).toMatchObject({ code: 2, out: "" });
  expect((await simulate("named.json", "--param", "who=me")).code).toBe(0);
  const wrong = async (...words: readonly string[]) => (await simulate("two.json", ...words)).err;
  expect(await wrong("--fail", "aa")).toBe('slipway: --fail: there is no step "aa"\ndid you mean "a"?\n');
  expect(await wrong("--fail", "a[0]")).toContain('step "a" has no items');
  expect(await wrong("--reject", "a")).toContain('step "a" needs no approval');
  expect((await simulate("late.json", "--fail", "a")).err).toContain("has no attempts that could fail");
});

test("a seed draws durations, the same every time", async () => {
  const [first, again, other] = [
    await simulate("two.json", "--seed", "1"),
    await simulate("two.json", "--seed", "1"),
    await simulate("two.json", "--seed", "2"),
  ];
  expect(again.out).toBe(first.out);
  expect(other.out).not.toBe(first.out);
});

test("run --dry-run prints what would be created, in order, and needs no control plane either", async () => {
  await writeFile(
    join(cli.directory, "map.yaml"),
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\napiVersion: slipway.dev/v1alpha1\nkind: Workflow\n" +
      "metadata: {name: after}\nspec: {steps: {b: {container: {image: i}, dependencies: [a]}, a: {container: {image: i}}}}\n",
  );
  const { code, out, err } = await cli.run("run", "--dry-run", "map.yaml");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out.split("\n").filter((line) => /^(?:#|kind)/.test(line))).toEqual([
    "# before the runs, from map.yaml",
    "kind: ConfigMap",
    "# after: a",
    "kind: Job",
    "# after: b",
    "kind: Job",
  ]);
  const listed = await cli.run("run", "--dry-run", "map.yaml", "-o", "json");
  expect(JSON.parse(listed.out)).toMatchObject({
    kind: "List",
    items: [{ metadata: { name: "first" } }, { metadata: { name: "after-a-<hash>" } }, { kind: "Job" }],
  });
  expect(await cli.run("run", "two.json", "-o", "yaml")).toMatchObject({ code: 2, out: "" });
  expect(await cli.run("run", "--dry-run", "named.json")).toMatchObject({ code: 2, out: "" });
});

test("run --target leaves a step and what it depends on", async () => {
  const names = async (...words: readonly string[]) =>
    (await cli.run("run", "--dry-run", "two.json", ...words)).out.match(/^# .*$/gm);
  expect(await names("--target", "a")).toEqual(["# two: a"]);
  expect(await names("--target", "b")).toEqual(["# two: a", "# two: b"]);
  expect(await cli.run("run", "--dry-run", "two.json", "--target", "bb")).toMatchObject({
    code: 2,
    err: 'slipway: --target: there is no main step "bb"\ndid you mean "b"?\n',
  });
  expect(await cli.run("run", "--dry-run", "two.json", "fan.json", "--target", "a")).toMatchObject({ code: 2 });
});

test("what a step gives to a template among the documents is checked, at its place, by all that would carry it out", async () => {
  const template = `apiVersion: slipway.dev/v1alpha1
kind: WorkflowTemplate
metadata: {name: build}
spec:
  params: [{name: jobs, type: integer}]
  steps: {a: {container: {image: i}}}
`;
  const steps = (jobs: string) => `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: caller}
spec:
  steps:
    s: {workflow: {templateRef: {name: build}, arguments: {jobs: ${jobs}}}}
`;
  await writeFile(join(cli.directory, "wrong.yaml"), `${steps("many")}---\n${template}`);
  await writeFile(join(cli.directory, "right.yaml"), `${steps("3")}---\n${template}`);
  const place = "wrong.yaml:6:66: error: spec.steps.s.workflow.arguments.jobs";
  const told = { code: 2, out: "", err: `${place}: expected an integer, found "many"\n` };
  expect(await simulate("wrong.yaml")).toEqual(told);
  expect(await cli.run("run", "wrong.yaml")).toEqual(told);
  expect(await cli.run("run", "wrong.yaml", "--dry-run")).toEqual(told);
  expect(await simulate("right.yaml")).toMatchObject({ code: 0, err: "" });
});
