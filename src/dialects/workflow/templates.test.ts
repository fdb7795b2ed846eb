import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { templateAdmission, workflowAdmission } from "./admission.ts";
import { describeWorkflow } from "./describe.ts";
import { type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";
import { Harness, job, namespace } from "./testing/harness.ts";

const typed = (kind: string, name: string, spec: JsonObject) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind,
  metadata: { name, namespace },
  spec,
});
const words = { name: "words", type: "string", required: true } as const;
const template: WorkflowSpec = {
  params: [words, { name: "times", type: "integer", default: 1 }],
  activeDeadlineSeconds: 60,
  steps: { say: job(), repeat: job({ dependencies: ["say"], displayName: "${{ params.words }}" }) },
};

describe("what is admitted", () => {
  const causes = (spec: JsonObject) =>
    templateAdmission
      .validate(typed("WorkflowTemplate", "t", spec))
      .causes.map(({ field, message }) => `${field}: ${message}`);
  const causesOfWorkflow = (spec: JsonObject, old?: JsonObject) =>
    workflowAdmission
      .validate(typed("Workflow", "wf", spec), old)
      .causes.map(({ field, message }) => `${field}: ${message}`);

  test("a template is checked as a workflow is, but its required parameters may be absent", () => {
    expect(causes({ params: [words], steps: { a: job() } })).toEqual([]);
    expect(causes({ params: [{ ...words, pattern: "(" }], steps: { a: job({ dependencies: ["b"] }) } })).toEqual([
      expect.stringMatching(/^spec\.params\[0\]\.pattern: /),
      expect.stringMatching(/^spec\.steps\.a\.dependencies\[0\]: no step "b"/),
    ]);
  });

  test("a template is no run: it has no arguments, is not suspended and refers to no other template", () => {
    const refused = { params: [words], arguments: { words: "hi" }, suspend: true, templateRef: { name: "other" } };
    expect(causes({ ...refused, steps: { a: job() } })).toEqual([
      "spec.arguments: a template has no arguments; give its params defaults",
      "spec.suspend: a template is not run by itself; suspend the workflows that refer to it",
      "spec.templateRef: a template holds its steps itself",
    ]);
  });

  test("beside templateRef a workflow has only what is about the run", () => {
    const own = {
      arguments: { any: 1 },
      activeDeadlineSeconds: 5,
      ttlSecondsAfterFinished: 5,
      parallelism: 2,
      priority: 5,
    };
    expect(causesOfWorkflow({ templateRef: { name: "t" }, ...own, suspend: true })).toEqual([]);
    const more = { steps: { a: job() }, outputs: { x: "1" }, archive: true };
    const why = "comes from the template; with templateRef, a spec may set only";
    expect(causesOfWorkflow({ templateRef: { name: "t" }, ...more })).toEqual([
      "spec.archive: this version does not carry the archive",
      expect.stringContaining(`spec.steps: ${why} arguments, `),
      expect.stringContaining(`spec.outputs: ${why} arguments, `),
    ]);
  });

  test("arguments can be put right until they were taken", () => {
    const [spec, next] = [1, 2].map((words) => ({ templateRef: { name: "t" }, arguments: { words } }));
    const old = typed("Workflow", "wf", spec ?? {});
    expect(causesOfWorkflow(next ?? {}, old)).toEqual([]);
    expect(causesOfWorkflow(next ?? {}, { ...old, status: { resolvedSpec: {} } })).toEqual([
      "spec.arguments: cannot be changed",
    ]);
  });
});

describe("a workflow with templateRef", () => {
  let harness: Harness;
  beforeEach(() => {
    harness = new Harness();
  });
  afterEach(() => harness.close());

  const publish = async (spec: WorkflowSpec, name = "t") => {
    await harness.store.create<WorkflowTemplate>(WorkflowTemplate, {
      ...typed("WorkflowTemplate", name, {}),
      spec,
    });
    await harness.settle();
  };
  const place = { type: WorkflowTemplate, namespace, name: "t" };
  const run = (more: WorkflowSpec = {}) =>
    harness.create({ templateRef: { name: "t" }, arguments: { words: "hi" }, ...more });
  const invalid = async () =>
    (await harness.status()).conditions?.find(({ type, status }) => type === "Invalid" && status === "True");

  test("runs the template's steps with its own arguments and fields over it, frozen in the write that starts it", async () => {
    await publish(template);
    await run({ activeDeadlineSeconds: 90, parallelism: 1 });
    const status = await harness.status();
    expect(status.resolvedSpec).toEqual({
      ...template,
      arguments: { words: "hi" },
      activeDeadlineSeconds: 90,
      parallelism: 1,
    });
    expect(status.startTime).toBeDefined();
    expect(harness.statusWrites).toBe(1);
    expect(await harness.active()).toEqual(["say"]);
    await harness.endAll();
    expect((await harness.status()).phase).toBe("Succeeded");
    const text = describeWorkflow(await harness.workflow(), harness.clock.now());
    expect(text).toMatch(/^say .*Succeeded/m);
    expect(text).toMatch(/^repeat .*Succeeded .*\[x\] say/m);
  });

  test("goes on by what it started with, also when it is retried, whatever becomes of the template", async () => {
    await publish(template);
    await run();
    await harness.store.patch(place, { type: "merge", body: { spec: { steps: { say: null, other: job() } } } });
    await harness.settle();
    await harness.end("say", { exitCode: 1 });
    expect(await harness.phases()).toEqual({ say: "Failed/Error", repeat: "Skipped/DependencyFailed" });
    await harness.store.delete(place);
    await harness.act("retry");
    await harness.endAll();
    expect(await harness.phases()).toEqual({ say: "Succeeded", repeat: "Succeeded" });
    expect((await harness.status()).resolvedSpec).toMatchObject({ steps: template.steps });
  });

  test("is Invalid without its template, and goes on when that appears", async () => {
    await run();
    expect(await invalid()).toMatchObject({
      reason: "TemplateNotFound",
      message: 'spec.templateRef: there is no WorkflowTemplate "t"',
    });
    expect((await harness.status()).startTime).toBeUndefined();
    await publish(template);
    expect(await invalid()).toBeUndefined();
    expect(await harness.active()).toEqual(["say"]);
  });

  test("is Invalid when its arguments do not fit the template, and goes on when they do", async () => {
    await publish(template);
    await run({ arguments: { times: "x", word: "hi" } });
    expect(await invalid()).toMatchObject({
      reason: "InvalidSpec",
      message: [
        'spec.arguments.words: the parameter "words" is required',
        'spec.arguments.times: expected an integer, found "x"',
        'spec.arguments.word: no parameter "word" is declared',
      ].join("; "),
    });
    await harness.edit({ arguments: { words: "hi", times: 2, word: null } });
    expect(await invalid()).toBeUndefined();
    expect(await harness.active()).toEqual(["say"]);
  });

  test("that is suspended reads the template when it is resumed", async () => {
    await publish({ steps: { old: job() } });
    await run({ suspend: true, arguments: {} });
    expect((await harness.status()).resolvedSpec).toBeUndefined();
    await harness.store.patch(place, { type: "merge", body: { spec: { steps: { old: null, fresh: job() } } } });
    await harness.settle();
    await harness.edit({ suspend: false });
    expect(await harness.active()).toEqual(["fresh"]);
  });

  test("can be given another deadline while it runs, and is deleted by its own time to live", async () => {
    await publish(template);
    await run({ ttlSecondsAfterFinished: 5 });
    await harness.edit({ activeDeadlineSeconds: 100_000 });
    await harness.pass(61_000);
    expect((await harness.status()).phase).toBe("Running");
    await harness.endAll();
    await harness.pass(6_000);
    expect(await harness.exists()).toBe(false);
  });

  test("is Invalid when both together are too large for its status", async () => {
    const description = "x".repeat(600_000);
    await publish({ steps: { say: job({ description }) } });
    await run({ arguments: { words: description } });
    expect((await invalid())?.message).toMatch(/^spec\.templateRef: with its template the specification has \d+ bytes/);
  });
});
