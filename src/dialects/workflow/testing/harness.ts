import { FakeClock, formatTime, type JsonObject, silentLog } from "#lib/base/index.ts";
import { leftAnnotation } from "#kernel/artifacts/index.ts";
import { type ApiClient, type EventNote, Manager, type Metrics, refTo } from "#kernel/kit/index.ts";
import { MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { isNotFound, Job, type KubeObject, Pod, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { addWorkflowControllers, type WorkflowControllerOptions } from "../controller.ts";
import { ConcurrencyLimit } from "../locks/kind.ts";
import { CacheEntry } from "../cache/kind.ts";
import { Workflow, type WorkflowSpec, type WorkflowStatus, WorkflowTemplate } from "../kinds.ts";
import { RunAction, sharedOf } from "#kernel/dialect/index.ts";
import { dialect } from "../dialect.ts";
import { ScheduledWorkflow } from "../schedule/kind.ts";

export const namespace = "default";

/** A kind of somebody else, for references and templates. */
export const Thing: ResourceType = {
  group: "example.com",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
};

/** A step that is a Job with one container. */
export const job = (more: JsonObject = {}) => ({
  jobTemplate: {
    spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } } },
  },
  ...more,
});

export interface HarnessOptions extends WorkflowControllerOptions {
  readonly types?: readonly ResourceType[];
  /** Stands between the controllers and the store. */
  readonly wrap?: (client: MemoryClient) => ApiClient;
  readonly clock?: FakeClock;
  /** What admission makes of new objects. */
  readonly admit?: (object: Stored) => Stored;
  readonly store?: MemoryClient;
  readonly metrics?: Metrics;
}

/** How a Job is made to end. */
export interface JobEnd {
  readonly exitCode?: number;
  /** The termination message of its container. */
  readonly message?: string;
  /** Why the container has terminated. */
  readonly reason?: string;
  /** What the Pod runner notes of the artifacts that the Pod has left. */
  readonly left?: JsonObject;
}

/** The controllers of this dialect on an API in memory, a clock that stands still, and a test that plays Job controller. */
export class Harness {
  readonly clock: FakeClock;
  readonly store: MemoryClient;
  readonly events: EventNote[] = [];
  /** Status writes of workflows so far. */
  statusWrites = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: HarnessOptions = {}) {
    this.clock = options.clock ?? new FakeClock();
    this.store =
      options.store ??
      memoryClient({
        clock: this.clock,
        ...(options.admit === undefined ? {} : { admit: options.admit }),
        types: [
          Workflow,
          WorkflowTemplate,
          ScheduledWorkflow,
          RunAction,
          ConcurrencyLimit,
          CacheEntry,
          Thing,
          ...(options.types ?? []),
        ],
      });
    const client = options.wrap?.(this.store) ?? this.store;
    const manager = new Manager({
      client: this.#counting(client),
      clock: this.clock,
      log: silentLog,
      random: seededRandom(1),
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    });
    const recorder = {
      dropped: 0,
      record: (note: EventNote) => void this.events.push(note),
      flush: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    addWorkflowControllers(manager, { recorder, ...options });
    sharedOf([dialect]).addControllers(manager);
    this.#running = manager.run(this.#stop.signal);
  }

  #counting(client: ApiClient): ApiClient {
    const count = (): void => void this.statusWrites++;
    return new Proxy(client, {
      get(target, name, receiver) {
        if (name === "updateStatus") count();
        const value: unknown = Reflect.get(target, name, receiver);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  pass(ms: number): Promise<void> {
    return this.clock.pass(ms);
  }

  async create(spec: WorkflowSpec, name = "wf"): Promise<Stored<Workflow>> {
    const created = await this.store.create<Workflow>(Workflow, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name, namespace },
      spec,
    });
    await this.settle();
    return created;
  }

  async workflow(name = "wf"): Promise<Stored<Workflow>> {
    return await this.store.get<Workflow>({ type: Workflow, namespace, name });
  }

  async status(name = "wf"): Promise<WorkflowStatus> {
    return (await this.workflow(name)).status ?? {};
  }

  /** Phases by step, as `phase` or `phase/reason`. */
  async phases(name = "wf"): Promise<Readonly<Record<string, string>>> {
    const { statuses = {} } = await this.status(name);
    return Object.fromEntries(
      Object.entries(statuses).map(([key, { phase, reason }]) => [
        key,
        reason === undefined ? `${phase}` : `${phase}/${reason}`,
      ]),
    );
  }

  async exists(name = "wf"): Promise<boolean> {
    return await this.workflow(name).then(
      () => true,
      (thrown: unknown) => {
        if (isNotFound(thrown)) return false;
        throw thrown;
      },
    );
  }

  async jobs(): Promise<readonly Stored[]> {
    return (await this.store.list(Job, { namespace })).items;
  }

  /** Steps whose Jobs exist and have not ended, sorted. */
  async active(): Promise<readonly string[]> {
    const jobs = (await this.jobs()).filter(({ status }) => status === undefined);
    return jobs.map((found) => found.metadata.labels?.["slipway.dev/step"] ?? "").sort();
  }

  /** The newest Job of a step. */
  async jobOf(step: string): Promise<Stored> {
    const jobs = (await this.jobs()).filter(({ metadata }) => metadata.labels?.["slipway.dev/step"] === step);
    const newest = jobs.sort((a, b) => attemptOf(b) - attemptOf(a))[0];
    if (newest === undefined) throw new Error(`the step ${step} has no Job`);
    return newest;
  }

  /** Ends the newest Job of a step, with a pod that says how. */
  async end(step: string, how: JobEnd = {}): Promise<void> {
    await this.#end(await this.jobOf(step), how);
  }

  async #end(found: Stored, { exitCode = 0, message = "", reason = "", left }: JobEnd): Promise<void> {
    await this.#podOf(found, { exitCode, message, reason }, left);
    const condition =
      exitCode === 0
        ? { type: "Complete", status: "True" }
        : { type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "too many failures" };
    const conditions = [{ ...condition, lastTransitionTime: formatTime(this.clock.now()) }];
    await this.store.updateStatus(Job, { ...found, status: { conditions } });
    await this.settle();
  }

  /** Ends the newest Job of one item of a fan-out. */
  async endItem(step: string, item: number, how: JobEnd = {}): Promise<void> {
    const found = (await this.jobs()).filter(
      ({ metadata, status }) =>
        status === undefined &&
        metadata.labels?.["slipway.dev/step"] === step &&
        metadata.labels["slipway.dev/item"] === String(item),
    );
    const newest = found.sort((a, b) => attemptOf(b) - attemptOf(a))[0];
    if (newest === undefined) throw new Error(`item ${item} of the step ${step} has no active Job`);
    await this.#end(newest, how);
  }

  async #podOf(owner: Stored, terminated: JsonObject, left: JsonObject | undefined): Promise<void> {
    // Some tests make a Job without a specification themselves.
    const spec = owner.spec as { readonly template: { readonly metadata: JsonObject } } | undefined;
    const pod = await this.store.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `${owner.metadata.name}-pod`,
        namespace,
        ...(spec?.template.metadata ?? { labels: owner.metadata.labels ?? {} }),
      },
    });
    const status = {
      phase: terminated["exitCode"] === 0 ? "Succeeded" : "Failed",
      containerStatuses: [{ name: "main", state: { terminated } }],
    };
    await this.store.updateStatus(Pod, { ...pod, status });
    if (left === undefined) return;
    const annotations = { [leftAnnotation]: JSON.stringify({ uid: pod.metadata.uid, ...left }) };
    await this.store.patch(refTo(Pod, pod), { type: "merge", body: { metadata: { annotations } } });
  }

  /** Ends every Job that is active, again and again, until there is none; `ends` tells how. Answers the order of their starts. */
  async endAll(ends: (step: string, attempt: number) => JobEnd = () => ({})): Promise<readonly string[]> {
    const order: string[] = [];
    for (;;) {
      const open = (await this.jobs()).filter(({ status }) => status === undefined);
      if (open.length === 0) return order;
      for (const found of open) {
        const step = found.metadata.labels?.["slipway.dev/step"] ?? "";
        order.push(step);
        await this.#end(found, ends(step, attemptOf(found)));
      }
    }
  }

  /** Creates a RunAction and lets it take effect. */
  async act(action: string, more: JsonObject = {}, name = `${action}-${this.clock.now()}`): Promise<void> {
    const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" };
    const object: KubeObject = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { name, namespace },
      spec: { target, action, ...more },
    };
    await this.store.create(RunAction, object);
    await this.settle();
  }

  async action(prefix: string): Promise<RunAction["status"]> {
    const { items } = await this.store.list<RunAction>(RunAction, { namespace });
    return items.findLast(({ metadata }) => metadata.name.startsWith(prefix))?.status;
  }

  /** Changes the spec as a user does, whatever was written in between. */
  async edit(change: JsonObject, name = "wf"): Promise<void> {
    await this.store.patch({ type: Workflow, namespace, name }, { type: "merge", body: { spec: change } });
    await this.settle();
  }

  reasons(): readonly string[] {
    return this.events.map((event) => event.reason);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    // The grace of a stop is a wait on the clock, which stands still otherwise.
    const state = { ended: false };
    const running = this.#running.finally(() => (state.ended = true));
    while (!state.ended) await this.clock.advance(1_000);
    await running;
  }
}

const attemptOf = ({ metadata }: Stored): number => Number(metadata.labels?.["slipway.dev/attempt"] ?? 0);
