import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Event, isNotFound, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Hardware, Template, Workflow } from "#dialects/tinkerbell/kinds.ts";
import { formatInstant, type JsonObject, sleep, systemClock } from "#lib/base/index.ts";
import { hold, isHeld, type Moment, release } from "./holds.ts";
import type { AgentMachine, Site } from "./site.ts";

const namespace = "default";
const group = "tinkerbell.org/v1alpha1";
/** Longer than the busiest machine takes for anything that is waited for. */
const patienceMs = 240_000;

interface ActionStatus {
  readonly name: string;
  readonly state?: string;
  readonly attempts?: number;
}

/** Of a workflow, as far as these tests look at it. */
export interface Status {
  readonly state?: string;
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly dispatch?: {
    readonly held?: boolean;
    readonly rejections?: number;
    readonly attempt?: number;
    readonly agentID?: string;
  };
  readonly cancel?: object;
  readonly deadlines?: Readonly<Record<string, string>>;
  readonly tasks?: readonly { readonly actions: readonly ActionStatus[] }[];
}

/** An Event, as far as these tests look at it. */
interface Told {
  readonly reason?: string;
  readonly regarding?: { readonly name?: string };
}

/** One machine, and one workflow for it that is brought into a state. Its actions leave a line each time they run. */
export class Cell {
  readonly site: Site;
  /** Of the agent, its workflow, template and hardware. */
  readonly name: string;
  machine: AgentMachine;

  private constructor(site: Site, name: string, machine: AgentMachine) {
    [this.site, this.name, this.machine] = [site, name, machine];
  }

  /** With an agent that has been started. */
  static async open(site: Site, name: string, engine?: { readonly host: string }): Promise<Cell> {
    await mkdir(join(site.directory, "lines"), { recursive: true });
    const machine = await site.machine(name);
    machine.start(engine);
    return new Cell(site, name, machine);
  }

  /** Another machine with the same agent, which knows nothing of the one before; that one stays what it is. */
  async replaceMachine(): Promise<void> {
    this.machine = await this.site.machine(this.name, `${this.name}-replaced`);
    this.machine.start();
  }

  #file(name: string): string {
    return join(this.site.directory, "lines", `${this.name}.${name}`);
  }

  /** An action that leaves the line `name`, and then does this. */
  script(name: string, then = "true"): string {
    return `echo ${name} >> ${this.#file("lines")}; ${then}`;
  }

  /** Until the gate is opened. */
  get waiting(): string {
    return `until test -e ${this.#file("gate")}; do sleep 0.3; done`;
  }

  /** Leaves the line `told` when it is asked to end, and ends when the gate is opened. */
  stubborn(name: string): string {
    return `trap 'echo told >> ${this.#file("lines")}; ${this.waiting}; exit 0' TERM; ${this.script(name, "while :; do sleep 0.3; done")}`;
  }

  openGate(): Promise<void> {
    return writeFile(this.#file("gate"), "");
  }

  async lines(): Promise<readonly string[]> {
    return (await readFile(this.#file("lines"), "utf8").catch(() => "")).split("\n").filter(Boolean);
  }

  async template(scripts: readonly (string | object)[], name = this.name): Promise<void> {
    const actions = scripts.map((script, at) => ({
      name: `a${at}`,
      image: "none",
      ...(typeof script === "string" ? { command: ["/bin/sh", "-c", script] } : script),
    }));
    const data = JSON.stringify({ version: "0.1", name, tasks: [{ name: "t", worker: this.name, actions }] });
    await this.#create("Template", name, { data });
  }

  async workflow(spec: object = {}, name = this.name): Promise<void> {
    await this.#create("Workflow", name, { templateRef: name, ...spec });
  }

  /** A workflow with a template of its own. */
  async run(scripts: readonly (string | object)[], name = this.name, spec: object = {}): Promise<void> {
    await this.template(scripts, name);
    await this.workflow(spec, name);
  }

  /** For workflows that change how it boots. */
  async hardware(): Promise<void> {
    const netboot = { allowPXE: false, allowWorkflow: true };
    await this.#create("Hardware", this.name, { interfaces: [{ dhcp: { mac: "02:00:00:00:00:01" }, netboot }] });
  }

  async #create(kind: "Template" | "Workflow" | "Hardware", name: string, spec: object): Promise<void> {
    const object = { apiVersion: group, kind, metadata: { name, namespace }, spec };
    await this.site.server.api.create(plainTypes[kind], object);
  }

  cancel(): Promise<void> {
    return this.#writeStatus({ state: "CANCELLING" });
  }

  /** The time of the action that runs is over, however short it has been. */
  expireAction(): Promise<void> {
    return this.#writeStatus({ deadlines: { action: inMs(0) } });
  }

  /** All that it waits for has had its time, however short that has been. */
  async expireAll(): Promise<void> {
    await this.#writeIfUnchanged(({ deadlines = {}, cancel, state }) => ({
      deadlines: Object.fromEntries(Object.keys(deadlines).map((name) => [name, inMs(0)])),
      ...(state === "CANCELLING" && cancel !== undefined ? { cancel: { deadline: inMs(0) } } : {}),
    }));
  }

  /** It was refused, and now is not told of again for an hour: whatever happens finds it waiting. Whether that is so. */
  postpone(): Promise<boolean> {
    return this.#writeIfUnchanged(({ state, dispatch }) => {
      const isRefused = state === "PENDING" && (dispatch?.rejections ?? 0) > 0;
      return isRefused ? { dispatch: { notBefore: inMs(3_600_000) } } : undefined;
    });
  }

  /** Has what was postponed told in a moment. */
  resumeSoon(): Promise<void> {
    return this.#writeStatus({ dispatch: { notBefore: inMs(1_000) } });
  }

  async #writeStatus(status: JsonObject): Promise<void> {
    const ref = { type: plainTypes.Workflow, namespace, name: this.name };
    await this.site.server.api.patch(ref, { type: "merge", body: { status } }, { subresource: "status" });
  }

  /** Writes what is made of its status, unless that is nothing or somebody else has written in between; whether it has. */
  async #writeIfUnchanged(change: (status: Status) => JsonObject | undefined): Promise<boolean> {
    const ref = { type: plainTypes.Workflow, namespace, name: this.name };
    const { metadata, status: found } = await this.site.server.api.get<KubeObject & { status?: Status }>(ref);
    const status = change(found ?? {});
    if (status === undefined) return false;
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status };
    return this.site.server.api.patch(ref, { type: "merge", body }, { subresource: "status" }).then(
      () => true,
      () => false,
    );
  }

  /** The record that its agent is busy with it is wrong, whoever has written it: the agent goes on, also when it has lost its connection. */
  async disown(name: string): Promise<void> {
    const ref = { type: plainTypes.Workflow, namespace, name };
    const body = { status: { dispatch: { held: false } } };
    await this.site.server.api.patch(ref, { type: "merge", body }, { subresource: "status" });
  }

  hold(moment: Moment): Promise<void> {
    return hold(this.site.holds, this.name, moment);
  }

  isHeld(moment: Moment): boolean {
    return isHeld(this.site.holds, this.name, moment);
  }

  async releaseAll(): Promise<void> {
    const moments: readonly Moment[] = ["preparing", "scheduled", "between", "recorded", "post"];
    for (const moment of moments) await release(this.site.holds, this.name, moment);
  }

  async status(name = this.name): Promise<Status> {
    const { status } = await this.site.server.api.get<KubeObject & { status?: Status }>({
      type: plainTypes.Workflow,
      namespace,
      name,
    });
    return status ?? {};
  }

  /** Whether people see its agent as connected. */
  async isConnected(): Promise<boolean> {
    const ref = { type: plainTypes.Agent, name: this.name };
    const agent = await this.site.server.api
      .get<KubeObject & { status?: { connected?: boolean } }>(ref)
      .catch((thrown: unknown) => {
        if (isNotFound(thrown) || /not found/.test(String(thrown))) return undefined;
        throw thrown;
      });
    return agent?.status?.connected === true;
  }

  /** Resolves when `holds` does; rejects with all there is to know of the cell when it does not. */
  async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const end = systemClock.monotonic() + patienceMs;
    while (!(await holds())) {
      if (systemClock.monotonic() > end) throw new Error(`${this.name}: not ${what}\n${await this.tell()}`);
      await sleep(systemClock, 150);
    }
  }

  /** Reasons of all events that people are told of its agent. */
  async agentEvents(): Promise<readonly string[]> {
    const { items } = await this.site.server.api.list<KubeObject & Told>(plainTypes.Event, { namespace });
    return items.flatMap(({ reason = "", regarding }) => (regarding?.name === this.name ? [reason] : []));
  }

  async tell(): Promise<string> {
    const status = JSON.stringify(await this.status().catch(String), undefined, 1);
    const held = existsSync(this.site.holds);
    return `${status}\nlines ${(await this.lines()).join(" ")}\nholds ${held}\n${this.machine.said.join("")}\n${this.site.server.said.join("")}`;
  }
}

const inMs = (ms: number): string => formatInstant(systemClock.now() + ms);

/** What a kind is called, without its schema, which does not go through a message. */
const plain = ({ group: of, version, kind, plural, namespaced }: ResourceType): ResourceType => ({
  group: of,
  version,
  kind,
  plural,
  namespaced,
});

export const plainTypes = {
  Agent: plain(Agent),
  Event: plain(Event),
  Hardware: plain(Hardware),
  Template: plain(Template),
  Workflow: plain(Workflow),
};
