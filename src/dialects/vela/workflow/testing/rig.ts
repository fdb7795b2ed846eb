import { err, FakeClock, type Instant, type JsonObject, ok, silentLog, textAt } from "#lib/base/index.ts";
import { createOrUpdate } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, type KubeObject, type ResourceType, Secret, type Stored } from "#kernel/model/index.ts";
import type { App, Component, Mode, Step } from "../../app.ts";
import type { Definition } from "../../definitions/definition.ts";
import type { Clusters, Delivery } from "../../delivery/delivery.ts";
import { providers } from "../../ops/index.ts";
import type { Providers } from "../../ops/provider.ts";
import { withComponents } from "../../parse.ts";
import type { ComponentHealth, RenderedComponent } from "../../render/rendered.ts";
import { defaultSettings } from "../../settings.ts";
import { applyCommand, type Command } from "../commands.ts";
import type { Courier } from "#kernel/couriers/index.ts";
import type { WorkflowSettings } from "../delays.ts";
import type { PassParts } from "../parts.ts";
import { type PassResult, runPass, type RunInput } from "../pass.ts";
import { flatSteps, type StepStatus, type WorkflowStatus } from "../status.ts";
import { fakeCue, type FakeTemplate, template } from "./fake-cue.ts";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";

export const applicationType: ResourceType = {
  group: "core.oam.dev",
  version: "v1beta1",
  kind: "Application",
  plural: "applications",
  namespaced: true,
};

export const taskType: ResourceType = {
  group: "demo.example.org",
  version: "v1",
  kind: "Task",
  plural: "tasks",
  namespaced: true,
};

/** A step as tests write it. */
export const step = (name: string, type: string, more: Partial<Step> = {}): Step => ({
  name,
  type,
  stage: "post-render",
  dependsOn: [],
  inputs: [],
  outputs: [],
  properties: {},
  subSteps: [],
  ...more,
});

export const component = (name: string, more: Partial<Component> = {}): Component => ({
  name,
  type: "webservice",
  properties: {},
  traits: [],
  dependsOn: [],
  inputs: [],
  outputs: [],
  ...more,
});

export interface RigOptions {
  readonly steps: readonly Step[];
  readonly templates?: Readonly<Record<string, FakeTemplate>>;
  readonly mode?: Mode;
  readonly subMode?: Mode;
  readonly components?: readonly Component[];
  readonly settings?: Partial<WorkflowSettings>;
  readonly more?: Providers;
  readonly health?: (component: string) => ComponentHealth;
  readonly around?: (parts: PassParts) => PassParts;
  readonly courier?: Courier;
}

const healthy: ComponentHealth = { isHealthy: true, isWorkloadHealthy: true, message: "", details: {}, traits: [] };

const start: Instant = Date.UTC(2026, 0, 1);

/** Runs passes over one application with a memory client, a clock that is moved by hand, and templates in JSON. */
export async function createRig(options: RigOptions) {
  const clock = new FakeClock(start);
  const client = memoryClient({ clock, types: [applicationType, taskType] });
  const { steps, mode = "StepByStep", subMode = "DAG", components = [], templates = {} } = options;
  const owner = await client.create(applicationType, {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "Application",
    metadata: { name: "app", namespace: "default" },
  });
  const app: App = {
    identity: {
      name: "app",
      namespace: "default",
      uid: owner.metadata.uid,
      generation: 1,
      labels: {},
      annotations: {},
      revision: "app-v1",
      revisionNumber: 1,
      workflowName: "app",
    },
    components,
    policies: [],
    workflow: { modes: { steps: mode, subSteps: subMode }, steps: withComponents(steps, components) },
  };
  const delivery = fakeDelivery(app, client, clock, options.health ?? (() => healthy));
  const clusters: Clusters = { client: async (name) => err(`failed to get cluster ${name}`), list: async () => [] };
  const courier = options.courier ?? memoryCourier();
  const calls: string[] = [];
  const counted: Providers = {
    ...providers,
    // Counts executions: `test/count {name}`.
    "test/count": async (value, scope) => {
      calls.push(typeof value["name"] === "string" ? value["name"] : scope.step.name);
      return { kind: "continue", result: value["result"] ?? {} };
    },
    "test/error": async (value) => ({ kind: "error", message: textAt(value, "message") ?? "broken" }),
    ...options.more,
  };
  const abort = new AbortController();
  const bare: PassParts = {
    cue: fakeCue,
    providers: counted,
    definitions: {
      find: async (_type, name) => (templates[name] === undefined ? undefined : definition(name, templates[name])),
      names: async () => Object.keys(templates),
    },
    delivery,
    clusters,
    client,
    actingClient: client,
    courier,
    settings: { ...defaultSettings, ...options.settings },
    clock,
    log: silentLog,
    signal: abort.signal,
  };
  const parts = options.around?.(bare) ?? bare;
  const state: { status: WorkflowStatus | undefined; writes: number } = { status: undefined, writes: 0 };
  const pass = (more: Partial<RunInput> = {}): Promise<PassResult> =>
    runPass(parts, {
      subject: { app, owner },
      status: state.status,
      store: async (status) => {
        state.status = structuredClone(status);
        state.writes += 1;
      },
      ...more,
    });
  return {
    clock,
    client,
    app,
    owner,
    parts,
    state,
    calls,
    courier,
    pass,
    /** Passes until the run is over or only a person can go on; returns the delays between them. */
    async run(limit = 200): Promise<readonly number[]> {
      const delays: number[] = [];
      for (let round = 0; round < limit; round++) {
        const { requeueAfter, isDone } = await pass();
        if (isDone || requeueAfter === undefined) return delays;
        delays.push(requeueAfter);
        await clock.advance(requeueAfter);
      }
      return delays;
    },
    command(command: Command): void {
      const changed = applyCommand(state.status, command, app.workflow);
      if (!changed.ok) throw new Error(changed.error);
      state.status = changed.value;
    },
    edit(change: Partial<WorkflowStatus>): void {
      state.status = { ...state.status, ...change };
    },
    step: (name: string): StepStatus => flatSteps(state.status).find((each) => each.name === name) ?? {},
    /** `{ a: "failed/Timeout" }`. */
    phases: (): Record<string, string> =>
      Object.fromEntries(
        flatSteps(state.status).map(({ name = "", phase = "", reason = "" }) => [
          name,
          reason === "" ? phase : `${phase}/${reason}`,
        ]),
      ),
    store: async () => ({ map: await data(client, ConfigMap), secret: await data(client, Secret) }),
  };
}

export type Rig = Awaited<ReturnType<typeof createRig>>;

async function data(client: ReturnType<typeof memoryClient>, type: ResourceType): Promise<JsonObject> {
  const { items } = await client.list(type, { namespace: "default" });
  const found = items.find(({ metadata }) => metadata.name === "workflow-app-context");
  return found !== undefined && "data" in found ? (found.data as JsonObject) : {};
}

const definition = (name: string, fake: FakeTemplate): Definition => ({
  type: "workflow-step",
  name,
  template: template(fake),
  spec: {},
  annotations: {},
});

/** Applies to the memory client, and renders each component as a ConfigMap of its name. */
function fakeDelivery(
  app: App,
  client: ReturnType<typeof memoryClient>,
  clock: FakeClock,
  health: (component: string) => ComponentHealth,
): Delivery {
  const applyOne = async (object: KubeObject): Promise<Stored> => {
    const type = await client.resourceType(object.apiVersion, object.kind);
    if (type === undefined) throw new Error(`no kind ${object.kind} in version ${object.apiVersion}`);
    const { name = "", namespace = "default" } = object.metadata;
    const whole = { ...object, metadata: { ...object.metadata, namespace } };
    const made = await createOrUpdate<KubeObject>(
      client,
      { type, name, namespace },
      (present) =>
        present === undefined ? whole : { ...present, ...whole, metadata: { ...present.metadata, ...whole.metadata } },
      { clock },
    );
    return made.object;
  };
  return {
    app,
    async render(rendered): Promise<ReturnType<typeof ok<RenderedComponent>>> {
      const object = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: rendered.name, namespace: "default" },
        data: rendered.properties,
      };
      const workload = { key: rendered.name, role: "WORKLOAD" as const, component: rendered.name, object };
      return ok({ component: rendered, workload, auxiliaries: [] });
    },
    apply: async (objects) => ok(await Promise.all(objects.map(({ object }) => applyOne(object)))),
    applyObject: async (object) => ok(await applyOne(object)),
    async remove() {
      return ok(undefined);
    },
    health: async ({ component: { name } }) => health(name),
    patchComponent: () => undefined,
  };
}
