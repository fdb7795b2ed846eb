import { expect, test } from "vitest";
import { err, FakeClock, ok, silentLog } from "#lib/base/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { asJson, ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { Workflow, WorkflowRun } from "../kinds.ts";
import { providers } from "../ops/index.ts";
import { defaultSettings } from "../settings.ts";
import { runReconciler } from "./run-controller.ts";
import { fakeCue, type FakeTemplate, template } from "./testing/fake-cue.ts";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";

function rig() {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [WorkflowRun, Workflow, RunAction] });
  const templates: Record<string, FakeTemplate> = {};
  const authors: Record<string, string> = {};
  const acted: KubeObject[] = [];
  const notes: string[] = [];
  const reconciler = runReconciler({
    client,
    actors: {
      clientFor(object) {
        acted.push(object);
        return client;
      },
    },
    clustersFor: (acting) => ({
      client: async (name) => (name === "local" ? ok(acting) : err(`failed to get cluster ${name}`)),
      list: async () => [],
    }),
    clock,
    settings: defaultSettings,
    cue: fakeCue,
    definitions: {
      names: async () => Object.keys(templates),
      find: async (type, name) => {
        const found = templates[name];
        const writers = authors[name] === undefined ? {} : { writers: [{ user: authors[name], groups: [] }] };
        return found && { type, name, template: template(found), spec: {}, annotations: {}, ...writers };
      },
    },
    providers,
    courier: memoryCourier(),
    actions: { get: () => undefined, list: () => [], byIndex: () => [] },
    record: (_run, { reason, note }) => notes.push(`${reason}: ${note}`),
  });
  const reconcile = () =>
    reconciler.reconcile(
      { namespace: "default", name: "run" },
      { signal: new AbortController().signal, log: silentLog, now: clock.now(), failures: 0 },
    );
  const status = async () => {
    const run = await client.get({ type: WorkflowRun, namespace: "default", name: "run" });
    return asJson(run)["status"];
  };
  return { clock, client, templates, authors, acted, notes, reconcile, status };
}

const say = { actions: [{ path: "say", use: "op/message", value: { message: "<context.color>" } }] };
const flow = {
  apiVersion: "core.oam.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "flow", namespace: "default" },
  steps: [{ name: "hold", type: "suspend" }, { type: "say" }],
};
const run = {
  apiVersion: "core.oam.dev/v1alpha1",
  kind: "WorkflowRun",
  metadata: { name: "run", namespace: "default" },
  spec: { workflowRef: "flow", context: { color: "blue" } },
};
const flowRef = { type: Workflow, namespace: "default", name: "flow" };

test("17.24 a WorkflowRun with a context goes on when its Workflow and a definition are deleted", async () => {
  const { client, templates, reconcile, status } = rig();
  templates["say"] = say;
  await client.create(Workflow, flow);
  await client.create(WorkflowRun, run);
  await reconcile();
  expect(await status()).toMatchObject({ status: "suspending", mode: { steps: "StepByStep", subSteps: "DAG" } });
  await client.delete(flowRef);
  delete templates["say"];
  const ref = { type: WorkflowRun, namespace: "default", name: "run" };
  await client.patch(ref, { type: "merge", body: { status: { suspend: false } } }, { subresource: "status" });
  await reconcile();
  expect(await status()).toMatchObject({
    status: "succeeded",
    finished: true,
    steps: [
      { name: "hold", phase: "succeeded" },
      { name: "step-1", phase: "succeeded", message: "blue" },
    ],
  });
});

test("attack: a run whose snapshot another client edits starts nothing more", async () => {
  const { client, templates, reconcile, status } = rig();
  templates["say"] = say;
  await client.create(Workflow, flow);
  await client.create(WorkflowRun, run);
  await reconcile();
  const forged = { workflow: { ...flow, steps: [{ name: "theirs", type: "say" }] }, definitions: [] };
  await client.patch(
    { type: ConfigMap, namespace: "default", name: "workflow-run-snapshot" },
    { type: "merge", body: { data: { snapshot: JSON.stringify(forged) } } },
  );
  const ref = { type: WorkflowRun, namespace: "default", name: "run" };
  await client.patch(ref, { type: "merge", body: { status: { suspend: false } } }, { subresource: "status" });
  await reconcile();
  expect(await status()).toMatchObject({
    message: "ConfigMap default/workflow-run-snapshot was changed since the run started; create the run again",
    finished: false,
    steps: [{ name: "hold" }],
  });
  expect(JSON.stringify(await status())).not.toContain("theirs");
});

test("attack: who wrote the definition of a sub-step is a writer of what the run does", async () => {
  const { client, templates, authors, acted, reconcile } = rig();
  templates["say"] = say;
  authors["say"] = "eve";
  const group = { name: "g", type: "step-group", subSteps: [{ name: "s", type: "say" }] };
  await client.create(WorkflowRun, { ...run, spec: { workflowSpec: { steps: [group] } } });
  await reconcile();
  expect(acted.at(-1)).toMatchObject({ status: { actsFor: [{ user: "eve", groups: [] }] } });
});

test("bad input: a run waits for a Workflow and for a type of steps that do not exist yet", async () => {
  const { client, templates, notes, reconcile, status } = rig();
  await client.create(WorkflowRun, run);
  expect(await reconcile()).toEqual({ requeueAfter: 10_000 });
  await reconcile();
  await client.create(Workflow, { ...flow, steps: [{ name: "a", type: "say" }] });
  await reconcile();
  expect(await status()).toMatchObject({ status: "initializing", finished: false });
  expect(notes).toEqual([
    'Generate: Workflow "flow" not found in default',
    'Generate: WorkflowStepDefinition "say" not found in ns default, vela-system',
  ]);
  templates["say"] = say;
  await reconcile();
  expect(await status()).toMatchObject({ status: "succeeded" });
});
