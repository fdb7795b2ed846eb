import { seededRandom } from "#kernel/kit/testing/index.ts";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { type ApiClient, type Election, Manager, type Metrics } from "#kernel/kit/index.ts";
import { ApiError, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import { addJobController } from "#kernel/workloads/index.ts";
import { workflow as workflowDialect } from "#dialects/workflow/index.ts";
import { type Dialect, sharedOf } from "#kernel/dialect/index.ts";
import { definitionsOf } from "#app/server/control-plane.ts";
import { type Json, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { bareControllerParts } from "#test/support/controller-parts.ts";

/** Where Workflows and RunActions of the namespace `default` are. */
export const workflows = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";
export const runActions = "/apis/slipway.dev/v1alpha1/namespaces/default/runactions";
export const jobs = "/apis/batch/v1/namespaces/default/jobs";

/** What clients of the API send. */
export const types = {
  strict: "?fieldValidation=Strict",
  apply: { "Content-Type": "application/apply-patch+yaml" },
  merge: { "Content-Type": "application/merge-patch+json" },
  json: { "Content-Type": "application/json-patch+json" },
} as const;

/** A Workflow as a client writes it. */
export const workflow = (name: string, spec: unknown, more: object = {}) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name },
  spec,
  ...more,
});

/**
 * The server as `slipway up` makes it for workflows, without controllers: what is refused and what is stored is seen undisturbed. One that is not
 * admitting takes what the schemas take, as a cluster does that has our definitions and nothing else of ours.
 */
export async function startWorkflowServer(clock?: FakeClock, isAdmitting = true): Promise<TestServer> {
  const dialects = [await workflowDialect.load()];
  const owners = [sharedOf(dialects), ...dialects];
  return await startTestServer({
    admissions: isAdmitting ? owners.flatMap(({ admission }) => admission) : [],
    definitions: definitionsOf(owners),
    ...(clock === undefined ? {} : { clock }),
  });
}

/**
 * The client of a process that has fallen asleep between deciding and writing: its first write of a Workflow's status waits for `go`.
 * `told` is what became of its writes of Workflows and Jobs until that one was answered.
 */
export function lateClient(client: ApiClient): {
  readonly client: ApiClient;
  readonly go: () => void;
  readonly told: () => readonly string[];
} {
  let go = (): void => undefined;
  const awake = new Promise<void>((resolve) => (go = resolve));
  const told: string[] = [];
  let isLate = true;
  const late = new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== "function") return value;
      const call = value.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      if (!isLate || (name !== "updateStatus" && name !== "create")) return call;
      return async (type: ResourceType, ...rest: readonly unknown[]) => {
        if (type.kind !== "Workflow" && type.kind !== "Job") return await call(type, ...rest);
        if (name === "updateStatus") await awake;
        const outcome = await call(type, ...rest).then(
          (value) => ({ value }),
          (thrown: unknown) => ({ thrown }),
        );
        if (isLate) told.push(`${name} ${type.kind}: ${"thrown" in outcome ? reasonOf(outcome.thrown) : "written"}`);
        isLate &&= name !== "updateStatus";
        if ("thrown" in outcome) throw outcome.thrown;
        return outcome.value;
      };
    },
  });
  return { client: late, go: () => go(), told: () => told };
}

const reasonOf = (thrown: unknown): string => (thrown instanceof ApiError ? thrown.reason : String(thrown));

/** How one process of controllers is started. */
export interface ControllerOptions {
  readonly client?: ApiClient;
  readonly election?: Election;
  readonly metrics?: Metrics;
}

/** One process of controllers, as far as the API can tell. */
export interface Controllers {
  readonly manager: Manager;
  close(): Promise<void>;
}

/**
 * A server with the controllers of workflows and of Jobs on a clock that stands still. The test is the user, over HTTPS, the kubelet (a
 * Pod ends when it says so), and the controllers of all other kinds.
 */
export class WorkflowPlane {
  readonly clock: FakeClock;
  readonly api: TestServer;
  readonly #dialects: readonly Dialect[];
  readonly #running: Controllers[] = [];

  private constructor(clock: FakeClock, api: TestServer, dialects: readonly Dialect[]) {
    this.clock = clock;
    this.api = api;
    this.#dialects = dialects;
  }

  /** With a Job controller only, as a cluster has one; controllers of dialects are to be started by the test. */
  static async bare(isAdmitting = true): Promise<WorkflowPlane> {
    const clock = new FakeClock();
    const dialects = [await workflowDialect.load()];
    const plane = new WorkflowPlane(clock, await startWorkflowServer(clock, isAdmitting), dialects);
    const manager = plane.#manager({});
    addJobController(manager, { instance: "test" });
    plane.#run(manager);
    return plane;
  }

  static async start(isAdmitting = true): Promise<WorkflowPlane> {
    const plane = await WorkflowPlane.bare(isAdmitting);
    await plane.control();
    return plane;
  }

  /** Starts a process of controllers; there may be several. */
  async control(options: ControllerOptions = {}): Promise<Controllers> {
    const manager = this.#manager(options);
    sharedOf(this.#dialects).addControllers(manager);
    for (const dialect of this.#dialects) await dialect.addControllers(manager, bareControllerParts);
    return this.#run(manager);
  }

  #manager({ client = this.api.server.client(), ...options }: ControllerOptions): Manager {
    const clientFor = (object: KubeObject) => this.api.server.clientFor(object);
    return new Manager({ client, clientFor, clock: this.clock, log: silentLog, random: seededRandom(1), ...options });
  }

  #run(manager: Manager): Controllers {
    const { clock } = this;
    const stop = new AbortController();
    const state = { ended: false };
    const running = manager.run(stop.signal).finally(() => (state.ended = true));
    const controllers = {
      manager,
      async close() {
        stop.abort(new Error("the test is over"));
        // The grace of a stop is a wait on the clock, which stands still otherwise.
        while (!state.ended) await clock.advance(1_000);
        await running;
      },
    };
    this.#running.push(controllers);
    return controllers;
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  pass(ms: number): Promise<void> {
    return this.clock.pass(ms);
  }

  /** Creates a Workflow as a user does and lets the controllers see it; rejects when the server refuses it. */
  async create(name: string, spec: object, more: object = {}) {
    const answer = await this.api.ask("POST", workflows, { body: workflow(name, spec, more) });
    if (answer.status !== 201) throw new Error(answer.text);
    await this.settle();
    return answer;
  }

  async get(path: string): Promise<Json> {
    return (await this.api.ask("GET", path)).json;
  }

  /** The items of a list, loosely typed. */
  async list(path: string): Promise<readonly Json[]> {
    return (await this.get(path))["items"] as unknown as readonly Json[];
  }

  /** The status of a Workflow. */
  async status(name: string): Promise<Json> {
    return (await this.get(`${workflows}/${name}`))["status"] as unknown as Json;
  }

  /** Phases by step, as `phase` or `phase/reason`. */
  async phases(name: string): Promise<Readonly<Record<string, string>>> {
    const statuses = ((await this.status(name))?.["statuses"] ?? {}) as unknown as Readonly<
      Record<string, { readonly phase: string; readonly reason?: string }>
    >;
    const text = ({ phase, reason }: (typeof statuses)[string]) =>
      reason === undefined ? phase : `${phase}/${reason}`;
    return Object.fromEntries(Object.entries(statuses).map(([key, status]) => [key, text(status)]));
  }

  /** Gives a RunAction and lets it take effect; answers its status. */
  async act(name: string, action: object, target = "wf"): Promise<Json> {
    const reference = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: target };
    const body = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { name },
      spec: { target: reference, ...action },
    };
    const answer = await this.api.ask("POST", runActions, { body });
    if (answer.status !== 201) throw new Error(answer.text);
    await this.settle();
    return (await this.get(`${runActions}/${name}`))["status"] as unknown as Json;
  }

  /** Ends every Pod there is, well, as a kubelet does. */
  async endPods(): Promise<void> {
    const pods = "/api/v1/namespaces/default/pods";
    for (const pod of await this.list(pods)) {
      const name = String(pod["metadata"]?.["name"]);
      const ended = { name: "main", image: "busybox", state: { terminated: { exitCode: 0 } } };
      const body = { status: { phase: "Succeeded", containerStatuses: [ended] } };
      const answer = await this.api.ask("PATCH", `${pods}/${name}/status`, {
        bytes: JSON.stringify(body),
        headers: types.merge,
      });
      if (answer.status !== 200) throw new Error(answer.text);
    }
    await this.pass(5_000);
  }

  async close(): Promise<void> {
    for (const controllers of this.#running) await controllers.close();
    await this.api.close();
  }
}
