import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { MemoryClient } from "#kernel/kit/testing/index.ts";
import { Job, type Stored } from "#kernel/model/index.ts";
import { workflowAdmission } from "./admission.ts";
import { describeWorkflow } from "./describe.ts";
import { Workflow, type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { Harness, job, namespace } from "./testing/harness.ts";
import { viewWorkflow } from "./view.ts";

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const inner: WorkflowSpec = {
  params: [{ name: "site", required: true }],
  steps: { build: job({ outputs: { image: {} } }) },
  finally: { tidy: job() },
  outputs: { image: "steps.build.outputs.image", site: "params.site" },
};
const byTemplate = (more: JsonObject = {}, given: Readonly<Record<string, string>> = { site: "edge" }) => ({
  workflow: { templateRef: { name: "t" }, arguments: given },
  ...more,
});
const publish = async (spec: WorkflowSpec, name = "t") => {
  await harness.store.create<WorkflowTemplate>(WorkflowTemplate, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: { name, namespace },
    spec,
  });
};
const children = async (): Promise<readonly Stored<Workflow>[]> => {
  const { items } = await harness.store.list<Workflow>(Workflow, { namespace });
  return items.filter(({ metadata }) => metadata.name !== "wf");
};
const child = async (): Promise<Stored<Workflow>> => {
  const [first] = await children();
  if (first === undefined) throw new Error("there is no child");
  return first;
};
const complete = (found: Stored): Stored => ({
  ...found,
  status: { conditions: [{ type: "Complete", status: "True" }] },
});
const stepOf = async (key: string) => (await harness.status()).statuses?.[key] ?? {};

describe("parallelism", () => {
  const three: WorkflowSpec = { steps: { a: job(), b: job(), c: job() } };
  const active = async () => (await harness.active()).length;

  test("of a workflow bounds the steps of its child workflows together, and each of them can go on", async () => {
    const step = { workflow: { spec: { steps: { inner: { workflow: { spec: three } }, d: job() } } } };
    await harness.create({ parallelism: 3, steps: { one: step, two: { workflow: { spec: three } } } });
    let ended = 0;
    expect(await active()).toBe(3);
    for (let most = await active(); most > 0; most = await active()) {
      expect(most).toBeLessThanOrEqual(3);
      const [first] = (await harness.jobs()).filter(({ status }) => status === undefined);
      if (first !== undefined) await harness.store.updateStatus(Job, complete(first));
      await harness.settle();
      ended++;
    }
    expect([ended, (await harness.status()).phase]).toEqual([7, "Succeeded"]);
  });
});

describe("a workflow step", () => {
  test("creates a child that it owns, with its labels, and takes the child's outputs", async () => {
    await publish(inner);
    const site = "${{ params.site }}";
    const after = job({ dependencies: ["sub"], displayName: "${{ steps.sub.outputs.image }}" });
    await harness.create({
      params: [{ name: "site" }],
      arguments: { site: "edge" },
      outputs: { image: "steps.sub.outputs.image" },
      steps: { sub: byTemplate({}, { site }), after },
    });
    const { metadata, spec } = await child();
    expect(metadata).toMatchObject({
      name: expect.stringMatching(/^wf-sub-[a-z2-7]{10}$/),
      labels: { "slipway.dev/step": "sub", "slipway.dev/attempt": "1", "slipway.dev/depth": "1" },
      ownerReferences: [{ kind: "Workflow", name: "wf", controller: true }],
    });
    expect(spec).toEqual({ templateRef: { name: "t" }, arguments: { site: "edge" } });
    const view = viewWorkflow(await harness.workflow());
    expect(view.children).toMatchObject([{ kind: "Workflow", name: metadata.name }]);
    expect(describeWorkflow(await harness.workflow(), harness.clock.now())).toContain(`Workflow/${metadata.name}`);
    await harness.end("build", { message: "image=web:1" });
    await harness.pass(600);
    expect((await stepOf("sub")).phase).toBe("Running");
    await harness.end("tidy");
    expect(await stepOf("sub")).toMatchObject({ phase: "Succeeded", outputs: { image: "web:1", site: "edge" } });
    await harness.endAll();
    expect(await harness.status()).toMatchObject({ phase: "Succeeded", outputs: { image: "web:1" } });
  });

  test("with a spec of its own leaves the expressions in it to the child", async () => {
    const text = "${{ params.site }}";
    const spec = { ...inner, steps: { build: job({ displayName: text, outputs: { image: { default: text } } }) } };
    await harness.create({ steps: { sub: { workflow: { spec, arguments: { site: "edge" } } } } });
    expect((await child()).spec).toEqual({ ...spec, arguments: { site: "edge" } });
  });

  test("fails with the reason and the message of its child, and is tried again with another one", async () => {
    await publish(inner);
    await harness.create({ steps: { sub: byTemplate({ retry: { limit: 1, initialSeconds: 1 } }) } });
    for (let attempt = 1; attempt <= 2; attempt++) {
      await harness.end("build", { exitCode: 3 });
      await harness.end("tidy");
      await harness.pass(2_000);
    }
    expect(await stepOf("sub")).toMatchObject({ phase: "Failed", reason: "StepFailed", attempt: 2 });
    expect((await stepOf("sub")).message).toContain("build");
    expect(await children()).toHaveLength(2);
  });

  test("says why its child took too long or who has ended it", async () => {
    await publish({ ...inner, activeDeadlineSeconds: 5 });
    await harness.create({ steps: { sub: byTemplate() } });
    await harness.pass(6_000);
    await harness.end("tidy");
    const message = "not finished within 5s: build";
    expect(await stepOf("sub")).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", message });
    expect((await child()).status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", message });
  });

  test("fails with what is said against its arguments", async () => {
    await publish({ ...inner, params: [{ name: "site", type: "integer" }] });
    await harness.create({ steps: { sub: byTemplate() } });
    expect(await stepOf("sub")).toMatchObject({
      phase: "Failed",
      reason: "InvalidSpec",
      message: 'spec.arguments.site: expected an integer, found "edge"',
    });
    expect((await child()).status).toMatchObject({ phase: "Failed", reason: "InvalidSpec" });
    await harness.store.patch(
      { type: WorkflowTemplate, namespace, name: "t" },
      { type: "merge", body: { spec: { params: [{ name: "site" }] } } },
    );
    await harness.settle();
    expect(await harness.jobs()).toEqual([]);
  });

  test("waits for a template that is not there", async () => {
    await harness.create({ steps: { sub: byTemplate() } });
    expect((await child()).status?.conditions).toMatchObject([{ type: "Invalid", reason: "TemplateNotFound" }]);
    await publish(inner);
    await harness.settle();
    expect(await harness.active()).toEqual(["build"]);
  });

  test("that is cancelled tells its child to end, and is over when the child's final steps are", async () => {
    await publish(inner);
    await harness.create({ steps: { sub: byTemplate() } });
    await harness.act("cancel");
    expect((await stepOf("sub")).phase).toBe("Cancelling");
    expect(await harness.active()).toEqual(["tidy"]);
    const { items } = await harness.store.list<RunAction>(RunAction, { namespace });
    expect(items.map(({ spec }) => [spec.action, spec.target.name])).toContainEqual([
      "cancel",
      (await child()).metadata.name,
    ]);
    await harness.pass(60_000);
    expect((await stepOf("sub")).phase).toBe("Cancelling");
    await harness.end("tidy");
    expect((await child()).status?.phase).toBe("Canceled");
    expect(await harness.status()).toMatchObject({ phase: "Canceled", statuses: { sub: { phase: "Canceled" } } });
  });

  test("that is cancelled by force ends its child without final steps", async () => {
    await publish(inner);
    await harness.create({ steps: { sub: byTemplate() } });
    await harness.act("cancel", { force: true });
    await harness.settle();
    expect(await harness.active()).toEqual([]);
    expect((await harness.status()).phase).toBe("Canceled");
  });

  test("that takes too long ends its child and fails", async () => {
    await publish(inner);
    await harness.create({ steps: { sub: byTemplate({ timeoutSeconds: 5 }) } });
    await harness.pass(6_000);
    expect(await harness.active()).toEqual(["tidy"]);
    await harness.end("tidy");
    expect(await stepOf("sub")).toMatchObject({ phase: "Failed", reason: "Timeout" });
  });

  test("sees the end of its child, however short the child's time to live is", async () => {
    await publish({ ttlSecondsAfterFinished: 0, steps: { a: job() } });
    await harness.create({ steps: { sub: byTemplate({}, {}) } });
    await harness.end("a");
    await harness.pass(5_000);
    expect((await harness.status()).phase).toBe("Succeeded");
    expect(await children()).toHaveLength(1);
  });

  test("creates its child once, whatever becomes of the process and of the answer to it", async () => {
    await publish(inner);
    const { store, clock } = harness;
    await harness.close();
    let lost = 0;
    /** The child is created, the answer is not received. */
    const wrap = (client: MemoryClient): ApiClient =>
      new Proxy(client, {
        get(target, name, receiver) {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== "function") return value;
          if (name !== "create") return value.bind(target);
          return async (...given: readonly unknown[]) => {
            await Reflect.apply(value, target, given);
            lost += 1;
            throw new Error("the connection was lost");
          };
        },
      });
    const first = new Harness({ store, clock, wrap });
    await first.create({ steps: { sub: byTemplate() } });
    await first.pass(1_000);
    await first.close();
    expect(lost).toBeGreaterThan(0);
    harness = new Harness({ store, clock });
    await harness.pass(1_000);
    expect(await children()).toHaveLength(1);
    await harness.endAll(() => ({ message: "image=web:1" }));
    expect((await harness.status()).phase).toBe("Succeeded");
    expect(await children()).toHaveLength(1);
  });

  test("of a workflow that is deleted goes with it, and what its child runs as well", async () => {
    await publish(inner);
    await harness.create({ steps: { sub: byTemplate() } });
    await harness.store.delete({ type: Workflow, namespace, name: "wf" });
    await harness.pass(10_000);
    expect(await harness.exists()).toBe(false);
    expect(await children()).toEqual([]);
    expect(await harness.active()).toEqual([]);
  });

  test("of a suspended workflow lets its child go on", async () => {
    await publish({ steps: { a: job(), b: job({ dependencies: ["a"] }) } });
    await harness.create({ steps: { sub: byTemplate({}, {}), later: job({ dependencies: ["sub"] }) } });
    await harness.act("suspend");
    await harness.end("a");
    await harness.end("b");
    expect((await stepOf("sub")).phase).toBe("Succeeded");
    expect(await harness.active()).toEqual([]);
  });

  test("fans out, with one child per item and the outputs it declares as lists", async () => {
    await publish({
      params: [{ name: "site" }],
      steps: { build: job() },
      outputs: { where: '"at " + params.site' },
    });
    const site = "${{ item }}";
    await harness.create({
      steps: { sub: byTemplate({ forEach: { items: ["a", "b"] }, outputs: { where: {} } }, { site }) },
    });
    expect(new Set((await children()).map(({ spec }) => spec.arguments?.["site"]))).toEqual(new Set(["a", "b"]));
    for (const found of await harness.jobs()) await harness.store.updateStatus(Job, complete(found));
    await harness.settle();
    expect(await stepOf("sub")).toMatchObject({ phase: "Succeeded", outputs: { where: ["at a", "at b"] } });
  });

  test("of a template that contains itself ends at the eleventh level", async () => {
    await publish({ steps: { again: { workflow: { templateRef: { name: "t" } } } } });
    await harness.create({ templateRef: { name: "t" } });
    await harness.pass(2_000);
    const found = await children();
    expect(found.map(({ metadata }) => Number(metadata.labels?.["slipway.dev/depth"])).sort((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    const last = found.find(({ metadata }) => metadata.labels?.["slipway.dev/depth"] === "10");
    expect(last?.status?.statuses?.["again"]).toMatchObject({ phase: "Failed", reason: "TooDeep" });
    expect((await harness.status()).phase).toBe("Failed");
  });
});

describe("a workflow step is admitted", () => {
  const causes = (workflow: JsonObject, more: JsonObject = {}) =>
    workflowAdmission
      .validate({
        apiVersion: "slipway.dev/v1alpha1",
        kind: "Workflow",
        metadata: { name: "wf", namespace },
        spec: { steps: { sub: { workflow }, ...more } },
      })
      .causes.map(({ field, message }) => `${field}: ${message}`);

  test("with one of templateRef and spec", () => {
    const wrong = ["spec.steps.sub.workflow: exactly one of templateRef and spec is required"];
    expect(causes({})).toEqual(wrong);
    expect(causes({ templateRef: { name: "t" }, spec: { steps: { a: job() } } })).toEqual(wrong);
    expect(causes({ templateRef: { name: "t" } })).toEqual([]);
  });

  test("when what the child is to run is right, to any depth", () => {
    const deep = { steps: { b: { workflow: { spec: { steps: { c: job({ dependencies: ["d"] }) } } } } } };
    const spec = { ...deep, arguments: {}, finaly: {}, params: [{ name: "p", required: true }] };
    expect(causes({ spec })).toEqual([
      'spec.steps.sub.workflow.spec.finaly: is not a field of this kind (did you mean "finally"?)',
      "spec.steps.sub.workflow.spec.arguments: a template has no arguments; give its params defaults",
      expect.stringContaining("spec.steps.sub.workflow.spec.steps.b.workflow.spec.steps.c.dependencies[0]: no step"),
      'spec.steps.sub.workflow.arguments.p: the parameter "p" is required',
    ]);
  });

  test("with the outputs that its spec declares, or any of a template's", () => {
    const user = (name: string) => ({
      u: job({ dependencies: ["sub"], displayName: "x", when: `steps.sub.outputs.${name} == 1` }),
    });
    const spec = { steps: { a: job() }, outputs: { n: "1" } };
    expect(causes({ spec }, user("n"))).toEqual([]);
    expect(causes({ spec }, user("m"))).toEqual([expect.stringContaining('no output of "sub" "m"')]);
    expect(causes({ templateRef: { name: "t" } }, user("m"))).toEqual([]);
  });
});
