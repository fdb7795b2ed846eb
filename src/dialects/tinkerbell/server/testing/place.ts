import { FakeClock, type JsonObject, silentLog, systemClock } from "#lib/base/index.ts";
import { type ApiClient, Manager, Metrics } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { Event, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { RpcListener, workflowV2 } from "#kernel/rpc/index.ts";
import { type Headers, isRefused, RpcClient } from "#kernel/rpc/testing/index.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Hardware, Template, Workflow, WorkflowV2 } from "../../kinds.ts";
import type { WorkflowState } from "../../state.ts";
import { type AnyWorkflow, refOf, stateOf, storeState } from "../../stored.ts";
import { action, pending } from "../../testing/states.ts";
import { createDesk, type TinkerbellDesk, type TinkerbellServerOptions } from "../server.ts";
import { workflowId } from "../workflow-id.ts";

export const namespace = "default";
const { getWorkflows, publishEvent } = workflowV2.WorkflowService.method;

interface Told {
  readonly reason?: string;
  readonly regarding?: { readonly name?: string };
}

/** What a stand-in client does instead of the store, for tests of what fails. */
export type Wrap = (client: ApiClient) => ApiClient;

/**
 * A server of this dialect on an API in memory, unless another one is given, with agents that are real clients; its time stands still unless it is
 * moved.
 */
export class Place {
  readonly clock: FakeClock;
  readonly metrics = new Metrics();
  readonly store: ApiClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #desk: TinkerbellDesk;
  readonly #clients: RpcClient[] = [];
  #listener: RpcListener | undefined;

  private constructor(
    clock: FakeClock,
    store: ApiClient,
    client: ApiClient,
    options: Partial<TinkerbellServerOptions>,
  ) {
    this.clock = clock;
    this.store = store;
    const { metrics } = this;
    const manager = new Manager({ client, clock, log: silentLog, random: seededRandom(1), metrics });
    this.#desk = createDesk(manager, options);
    this.#running = manager.run(this.#stop.signal);
  }

  static async start(
    options: Partial<TinkerbellServerOptions> & { readonly wrap?: Wrap; readonly store?: ApiClient } = {},
  ) {
    const clock = new FakeClock();
    const store = options.store ?? memoryClient({ clock, types: [Workflow, WorkflowV2, Hardware, Template, Agent] });
    const place = new Place(clock, store, options.wrap?.(store) ?? store, options);
    await place.#desk.ready(place.#stop.signal);
    await place.#listen(options);
    return place;
  }

  async #listen({ tls, keepalive }: Partial<TinkerbellServerOptions>): Promise<void> {
    this.#listener = await RpcListener.start({
      address: "127.0.0.1:0",
      services: this.#desk.services,
      observe: this.#desk.observe,
      // Sockets do not care for the time of a test.
      clock: systemClock,
      log: silentLog,
      ...(tls === undefined ? {} : { tls }),
      ...(keepalive === undefined ? {} : { keepalive }),
    });
  }

  get port(): number {
    return this.#listener?.port ?? 0;
  }

  client(credentials?: ConstructorParameters<typeof RpcClient>[1], host?: string): RpcClient {
    const client = new RpcClient(this.port, credentials, host);
    this.#clients.push(client);
    return client;
  }

  /** An agent on its command stream. */
  agent(agentId = "agent-a", headers: Headers = {}): TestAgent {
    return new TestAgent(this.client(), agentId, headers);
  }

  /** A prepared workflow, as the controller leaves it. */
  async create(
    name: string,
    more: Partial<WorkflowState> = {},
    spec: JsonObject = { templateRef: "t" },
  ): Promise<string> {
    const actions = ["one", "two"].map((each) => action(each, {}, more.agentID));
    const created = await this.store.create<AnyWorkflow>(Workflow, {
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Workflow",
      metadata: { name, namespace },
      spec,
    });
    const stored = await storeState(this.store, created, { ...pending(), actions, ...more }, this.clock.now());
    return workflowId(stored);
  }

  /** Deletes it, as if no finalizer held it. */
  async remove(name: string): Promise<void> {
    await this.store.delete(refOf(namespace, name));
  }

  async workflow(name: string): Promise<Stored<AnyWorkflow>> {
    return await this.store.get<AnyWorkflow>(refOf(namespace, name));
  }

  async state(name: string): Promise<WorkflowState> {
    return stateOf(await this.workflow(name));
  }

  /** Writes a state as somebody else does. */
  async write(name: string, change: (state: WorkflowState) => WorkflowState): Promise<void> {
    const workflow = await this.workflow(name);
    await storeState(this.store, workflow, change(stateOf(workflow)), this.clock.now());
  }

  /** Reasons of the events that were told, oldest first. */
  async reasons(): Promise<readonly string[]> {
    return (await this.store.list(Event, {})).items.map((event) => String("reason" in event ? event.reason : ""));
  }

  /** Reasons of the events that were told of one workflow. */
  async reasonsOf(name: string): Promise<readonly string[]> {
    const { items } = await this.store.list<KubeObject & Told>(Event, { namespace });
    return items.filter(({ regarding }) => regarding?.name === name).map(({ reason = "" }) => reason);
  }

  async agentStatus(name: string): Promise<Agent["status"]> {
    return (await this.store.get<Agent>({ type: Agent, name })).status;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.#listener?.close();
    await this.#desk.close();
    this.#stop.abort(new Error("the test is over"));
    const state = { ended: false };
    const running = this.#running.finally(() => (state.ended = true));
    while (!state.ended) await this.clock.advance(1000);
    await running;
  }
}

type Telling = { readonly is: "started" | "succeeded" | "failed" | "rejected"; readonly action?: string };

/** An agent that does what a test says. */
export class TestAgent {
  readonly client: RpcClient;
  readonly stream: ReturnType<typeof streamOf>;

  constructor(client: RpcClient, agentId: string, headers: Headers) {
    this.client = client;
    this.stream = streamOf(client, agentId, headers);
  }

  /** Commands so far, as `start NAME: ACTION…` and `stop NAME`. */
  get told(): readonly string[] {
    return this.stream.messages.map(({ cmd }) => {
      if (cmd.case === "stopWorkflow") return `stop ${nameIn(cmd.value.workflowId)}`;
      if (cmd.case !== "startWorkflow") return "nothing";
      const { workflowId: id = "", actions = [] } = cmd.value.workflow ?? {};
      return `start ${nameIn(id)}: ${actions.map(({ name }) => name).join(" ")}`;
    });
  }

  /** Tells an event; the code it is answered with. */
  async tell(workflow: string, { is, action = "one" }: Telling, headers: Headers = {}): Promise<string> {
    const actionId = `id-${action}`;
    const event = {
      started: { case: "actionStarted", value: { actionId } },
      succeeded: { case: "actionSucceeded", value: { actionId } },
      failed: {
        case: "actionFailed",
        value: { actionId, failureReason: "DiskMissing", failureMessage: "no /dev/sda" },
      },
      rejected: { case: "workflowRejected", value: { failureReason: "WorkflowInProgress", failureMessage: "busy" } },
    } as const;
    const request = { event: { workflowId: workflow, event: event[is] } };
    const answer = await this.client.unary(publishEvent, request, headers);
    return isRefused(answer) ? answer.code : "OK";
  }
}

const streamOf = (client: RpcClient, agentId: string, headers: Headers) =>
  client.serverStream(getWorkflows, { agentId }, headers);

const nameIn = (id: string): string => id.split("/")[1] ?? "";
