import { err, FakeClock, type JsonObject, ok, silentLog } from "#lib/base/index.ts";
import { getOrUndefined, Manager, Metrics } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { Event, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ActionsPlan, TemplatePlan } from "#kernel/template/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { addController } from "../controller.ts";
import type { AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import { Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2 } from "../kinds.ts";
import type { Renderer } from "../reconcile/prepare.ts";
import type { WorkflowState } from "../state.ts";
import { type AnyWorkflow, changeWorkflow, refOf, stateOf } from "../stored.ts";
import { begin } from "./states.ts";

export const namespace = "default";

/** A plan of one task with these actions; what a template of the fake renderer says. */
export const planOf = (actions: readonly string[], more: Partial<TemplatePlan> = {}): TemplatePlan => ({
  version: "0.1",
  name: "t",
  globalTimeout: 0,
  tasks: [
    {
      name: "task",
      worker: "agent-a",
      volumes: ["/dev:/dev"],
      environment: { A: "task", B: "task" },
      actions: actions.map((name) => ({
        name,
        image: "docker.io/library/busybox:latest",
        timeout: 0,
        command: [],
        volumes: ["/tmp:/tmp"],
        environment: { B: "action" },
        pid: "",
        namespaces: { pid: "", network: "" },
      })),
    },
  ],
  overwritten: [],
  ignored: [],
  ...more,
});

/** Stands for the template module: the text is the plan itself as JSON, or `fail: WHY`. */
const renderer: Renderer = {
  render: ({ text }) =>
    Promise.resolve(
      text.startsWith("fail: ")
        ? err({ kind: "template", message: text.slice("fail: ".length), problems: [] })
        : ok(JSON.parse(text) as TemplatePlan),
    ),
  parse: ({ text }) =>
    Promise.resolve(text.startsWith("bad: ") ? err({ kind: "template", message: text, problems: [] }) : ok(undefined)),
  renderActions: ({ spec, params }) => {
    // Stands for what is rendered: every text with the parameters put in.
    const text = JSON.stringify(spec).replace(/\{\{\.Params\.(\w+)\}\}/g, (_all, name: string) => params[name] ?? "");
    const { actions = [], env = {}, volumes = [] } = JSON.parse(text) as Partial<ActionsPlan>;
    const blank = { cmd: "", args: [], env: {}, volumes: [], namespaces: { network: "", pid: "" } };
    return Promise.resolve(ok({ actions: actions.map((action) => ({ ...blank, ...action })), env, volumes }));
  },
};

/** The controller on an API in memory, with a clock that stands still and a test that plays users and server. */
export class Harness {
  readonly clock = new FakeClock(begin);
  readonly store: MemoryClient = memoryClient({
    clock: this.clock,
    types: [Workflow, WorkflowV2, Template, TemplateV2, Hardware, HardwareV2, RunAction],
  });
  readonly metrics = new Metrics();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    const random = seededRandom(1);
    const manager = new Manager({
      client: this.store,
      clock: this.clock,
      log: silentLog,
      random,
      metrics: this.metrics,
    });
    addController(manager, { renderer });
    this.#running = manager.run(this.#stop.signal);
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  pass(ms: number): Promise<void> {
    return this.clock.pass(ms);
  }

  /** A template that says this plan, or the text itself. */
  async template(plan: TemplatePlan | string, name = "t"): Promise<void> {
    const data = typeof plan === "string" ? plan : JSON.stringify(plan);
    await this.store.create<AnyTemplate>(Template, {
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Template",
      metadata: { namespace, name },
      spec: { data },
    });
    await this.settle();
  }

  /** A template of v1alpha2. */
  async templateV2(spec: JsonObject, name = "t"): Promise<void> {
    await this.store.create<AnyTemplate>(TemplateV2, {
      apiVersion: "tinkerbell.org/v1alpha2",
      kind: "Template",
      metadata: { namespace, name },
      spec,
    });
    await this.settle();
  }

  /** A machine. */
  async hardware(spec: JsonObject, name = "hw"): Promise<void> {
    await this.store.create<AnyHardware>(Hardware, {
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Hardware",
      metadata: { namespace, name },
      spec,
    });
    await this.settle();
  }

  /** The one workflow of a test, `w`. */
  async workflow(spec: JsonObject = { templateRef: "t" }, metadata: JsonObject = {}): Promise<void> {
    await this.store.create<AnyWorkflow>(Workflow, {
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Workflow",
      metadata: { namespace, name: "w", ...metadata },
      spec,
    });
    await this.settle();
  }

  /** Asks something of a workflow, and answers with what was said to it. */
  async ask(
    spec: Omit<RunAction["spec"], "target">,
    metadata: JsonObject = {},
    target = "w",
  ): Promise<RunAction["status"]> {
    const { metadata: created } = await this.store.create<RunAction>(RunAction, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { namespace, generateName: "ask-", ...metadata },
      spec: { ...spec, target: { apiVersion: "tinkerbell.org/v1alpha1", kind: "Workflow", name: target } },
    });
    await this.settle();
    return (await this.store.get<RunAction>({ type: RunAction, namespace, name: created.name })).status;
  }

  /** Undefined when it is gone. */
  async read(name = "w"): Promise<Stored<AnyWorkflow> | undefined> {
    return await getOrUndefined<AnyWorkflow>(this.store, refOf(namespace, name));
  }

  /** As stored; empty when there is none. */
  async status(): Promise<JsonObject> {
    return (await this.read())?.status ?? {};
  }

  /** What a server does. */
  async change(next: (state: WorkflowState) => WorkflowState): Promise<void> {
    const parts = { client: this.store, clock: this.clock };
    await changeWorkflow(parts, refOf(namespace, "w"), (state) => ({ state: next(state), answer: undefined }));
    await this.settle();
  }

  async state(): Promise<WorkflowState> {
    return stateOf((await this.read()) ?? { apiVersion: "", kind: "", metadata: {} });
  }

  /** Reasons of the events so far. */
  async notices(): Promise<readonly string[]> {
    await this.pass(2000);
    const { items } = await this.store.list<KubeObject & { readonly reason?: string }>(Event, { namespace });
    return items.map(({ reason = "" }) => reason);
  }

  async delete(): Promise<void> {
    await this.store.delete(refOf(namespace, "w"));
    await this.settle();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running.catch(() => undefined);
  }
}
