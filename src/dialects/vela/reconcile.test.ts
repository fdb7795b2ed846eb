import { expect, test } from "vitest";
import { FakeClock, type JsonObject, objectAt, silentLog } from "#lib/base/index.ts";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { asJson, type ResourceType } from "#kernel/model/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { Application, ApplicationRevision, ResourceTracker } from "./kinds.ts";
import { providers } from "./ops/index.ts";
import { applicationReconciler } from "./reconcile.ts";
import { defaultSettings } from "./settings.ts";
import { applyingClient } from "./testing/applying-client.ts";
import { fakeCue } from "./testing/fake-cue.ts";
import { clustersOf, templates, testDefinitions } from "./testing/fixtures.ts";
import { fakeCue as stepCue, template } from "./workflow/testing/fake-cue.ts";

const group = { group: "demo.example.org", version: "v1", namespaced: true } as const;
const taskType: ResourceType = { ...group, kind: "Rollout", plural: "rollouts" };
const limitType: ResourceType = { ...group, kind: "Limit", plural: "limits" };

/** The shape of the proposal's first document: steps that are objects, policies and steps without names. */
const application = {
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name: "shop", namespace: "default", generation: 1 },
  spec: {
    components: [{ name: "web", type: "webservice", properties: { image: "x" }, traits: [{ type: "expose" }] }],
    policies: [
      { type: "limit", name: "limit-auto-gen-0", properties: { size: 1 } },
      { type: "limit", name: "limit-auto-gen-1", properties: { size: 2 } },
    ],
    workflow: {
      steps: [
        { type: "roll", name: "step-0" },
        { type: "roll", name: "step-1" },
      ],
    },
  },
};
const apiVersion = "demo.example.org/v1";

/** Passes over the application with a client that notes writes in their order. */
async function rig() {
  const clock = new FakeClock();
  const types = [Application, ApplicationRevision, ResourceTracker, RunAction, taskType, limitType];
  const client = applyingClient(memoryClient({ clock, types, namespaces: ["vela-system"] }));
  const steps = { roll: template({ output: { apiVersion, kind: "Rollout", spec: { partition: "50%" } } }) };
  const found = testDefinitions({ "component/webservice": {}, "trait/expose": {}, "policy/limit": {} });
  const objects = fakeCue({
    ...templates,
    limit: ({ parameter }) => ({ output: { apiVersion, kind: "Limit", spec: objectAt(parameter) ?? {} } }),
  });
  const reconciler = applicationReconciler({
    client,
    actors: { clientFor: () => client, clientAs: () => client },
    clustersFor: (local) => clustersOf({ local }),
    clock,
    settings: defaultSettings,
    cue: { ...stepCue, render: (...asked) => objects.render(...asked), health: (...asked) => objects.health(...asked) },
    definitions: {
      names: (type, namespace) => found.names(type, namespace),
      find: async (type, name, namespace) =>
        type === "workflow-step" && name === "roll"
          ? { type, name, template: steps.roll, spec: {}, annotations: {} }
          : await found.find(type, name, namespace),
    },
    providers,
    courier: memoryCourier(),
    actions: { get: () => undefined, list: () => [], byIndex: () => [] },
    follow: () => Promise.resolve(),
    forget: () => undefined,
    release: () => Promise.resolve(),
    written: () => undefined,
    takeWoken: () => true,
    record: () => undefined,
    recordOnce: () => undefined,
    print: () => undefined,
  });
  await client.create(Application, application);
  client.writes.length = 0;
  const request = { namespace: "default", name: "shop" };
  return {
    client,
    reconcile: () =>
      reconciler.reconcile(request, {
        signal: new AbortController().signal,
        log: silentLog,
        now: clock.now(),
        failures: 0,
      }),
    get: async (type: ResourceType, name: string): Promise<JsonObject> =>
      asJson(await client.get({ type, namespace: "default", name })),
    /** As the step's own controller reports it. */
    succeed: async (name: string): Promise<void> => {
      const ref = { type: taskType, namespace: "default", name };
      const { metadata, ...rest } = await client.get(ref);
      const conditions = [{ type: "workflow-progress", status: "True", reason: "Succeeded" }];
      const status = { observedGeneration: metadata.generation ?? 0, conditions };
      await client.updateStatus(taskType, { ...rest, metadata, status });
    },
  };
}

test("17.1 a pass writes the revision and its objects, then policies, then steps, each after its tracker and before the next status", async () => {
  const { client, reconcile, succeed, get } = await rig();
  const status = "status of Application default/shop";
  await reconcile();
  expect(client.writes).toEqual([
    status,
    "create ApplicationRevision default/shop-v1",
    "create ConfigMap default/shop-v1",
    status,
    "create ResourceTracker shop-v1-default",
    "apply Limit default/limit-auto-gen-0",
    "apply Limit default/limit-auto-gen-1",
    // The condition Policy, then the start of the first step.
    status,
    status,
    "update ResourceTracker shop-v1-default",
    "apply Rollout default/shop-step-0",
    "create ConfigMap default/workflow-shop-context",
    status,
  ]);
  await succeed("shop-step-0");
  client.writes.length = 0;
  await reconcile();
  // The end of the first step is durable before the second one begins.
  expect(client.writes).toEqual([
    status,
    "update ResourceTracker shop-v1-default",
    "apply Rollout default/shop-step-1",
    "update ConfigMap default/workflow-shop-context",
    status,
  ]);
  // With a workflow only steps apply components, and none of these does.
  const { items } = await client.list({
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    namespaced: true,
  });
  expect(items).toEqual([]);
  expect((await get(Application, "shop"))["status"]).toMatchObject({ status: "runningWorkflow" });
});
