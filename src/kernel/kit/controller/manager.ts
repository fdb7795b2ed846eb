import { setMaxListeners } from "node:events";
import {
  aborted,
  type Clock,
  type Logger,
  messageOf,
  type Millis,
  sleep,
  type Random,
  onAbort,
} from "#lib/base/index.ts";
import type { KubeObject, ResourceType, Writer } from "#kernel/model/index.ts";
import { freshClient } from "../cache/fresh-client.ts";
import { InformerFactory } from "../cache/informer-factory.ts";
import type { Informer } from "../cache/informer.ts";
import type { Scope } from "../cache/reflector.ts";
import type { ApiClient } from "../client/api-client.ts";
import { type ControllerMetrics, controllerMetrics } from "../metrics/controller-metrics.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Runnable, Schedule } from "./controller.ts";
import { alwaysLeader, type Election } from "./election.ts";
import { type EventRecorder, type EventRecorderOptions, eventRecorder } from "./event-recorder.ts";

export interface ManagerOptions {
  readonly client: ApiClient;
  /** A client with the rights of an object's author; undefined if the API cannot tell. */
  readonly clientFor?: (object: KubeObject) => ApiClient | undefined;
  /** A client that impersonates a user, such as a ServiceAccount; absent if the API cannot do that. */
  readonly clientAs?: (user: Writer) => ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** Default: `alwaysLeader`. */
  readonly election?: Election;
  readonly schedule?: Schedule;
  /** How long a stop may take before everything is aborted; default: 10 s. */
  readonly stopGrace?: Millis;
  /** One manager per `Metrics`. */
  readonly metrics?: Metrics;
}

/** A healthy server takes less to read every kind. */
const syncPatience: Millis = 10_000;

export type ManagerPhase = "new" | "syncing" | "waiting for leadership" | "running" | "stopping" | "stopped";

/** Runs controllers over shared informers, from mirrors to leadership to controllers. Own writes are read at once. */
export class Manager {
  readonly client: ApiClient;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly schedule: Schedule;
  readonly metrics: Metrics;
  readonly controllerMetrics: ControllerMetrics;
  readonly #clientFor: ManagerOptions["clientFor"];
  readonly #clientAs: ManagerOptions["clientAs"];
  readonly #election: Election;
  readonly #stopGrace: Millis;
  readonly #runnables: Runnable[] = [];
  readonly #onStopped: (() => void)[] = [];
  #phase: ManagerPhase = "new";

  constructor(options: ManagerOptions) {
    const { clock, log, random } = options;
    this.informers = new InformerFactory({ client: options.client, clock, log, random });
    this.client = freshClient(options.client, this.informers);
    this.#clientFor = options.clientFor;
    this.#clientAs = options.clientAs;
    this.clock = clock;
    this.log = log;
    this.random = random;
    this.schedule = options.schedule ?? setImmediate;
    this.metrics = options.metrics ?? new Metrics();
    this.controllerMetrics = controllerMetrics(this.metrics);
    this.#election = options.election ?? alwaysLeader;
    this.#stopGrace = options.stopGrace ?? 10_000;
  }

  /** A client with the rights of the object's author; on a cluster, whose API does not name them, the manager's own. */
  clientFor(object: KubeObject): ApiClient {
    const acting = this.#clientFor?.(object);
    return acting === undefined ? this.client : freshClient(acting, this.informers);
  }

  /** A client with the rights of this user; undefined if that is impossible. The caller checks who may use them. */
  clientAs(user: Writer): ApiClient | undefined {
    const acting = this.#clientAs?.(user);
    return acting === undefined ? undefined : freshClient(acting, this.informers);
  }

  /** For health checks: ready is `running` or `waiting for leadership`. */
  get phase(): ManagerPhase {
    return this.#phase;
  }

  get runnables(): readonly Runnable[] {
    return this.#runnables;
  }

  /** Only before `run`. */
  add(runnable: Runnable): void {
    if (this.#phase !== "new") throw new Error(`${runnable.name} was added to a manager that has started`);
    if (this.#runnables.some(({ name }) => name === runnable.name))
      throw new Error(`the manager runs something named ${runnable.name} already`);
    this.#runnables.push(runnable);
  }

  /** Calls `run` after all runnables and before the mirrors stop, last registered first. Exceptions are logged. */
  onStopped(run: () => void): void {
    this.#onStopped.push(run);
  }

  /** The shared mirror of a kind, released when the manager has stopped. */
  mirror<T extends KubeObject = KubeObject>(type: ResourceType, scope?: Scope): Informer<T> {
    const share = this.informers.acquire<T>(type, scope);
    this.onStopped(() => share.release());
    return share.informer;
  }

  /** A recorder of events for one controller. Unwritten events are written at the stop without delaying it. */
  recorder(options: Pick<EventRecorderOptions, "controller" | "instance" | "perObject">): EventRecorder {
    const { client, clock, log, schedule } = this;
    const recorder = eventRecorder({ client, clock, log, schedule, ...options });
    this.onStopped(() => void recorder.close());
    return recorder;
  }

  /** Runs until an abort has stopped everything. Rejects if leadership is lost or a runnable fails. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#phase !== "new") throw new Error("a manager runs once");
    const crew = new Crew(this.#stopGrace, this.clock);
    const removeListener = onAbort(signal, () => crew.stop());
    onAbort(crew.stopping, () => (this.#phase = "stopping"));
    try {
      await this.#runCrew(crew);
    } finally {
      removeListener();
      await this.#close();
      this.#phase = "stopped";
    }
    if (crew.failure !== undefined) throw crew.failure;
  }

  /** Rejects only if releasing leadership fails. */
  async #runCrew(crew: Crew): Promise<void> {
    this.#phase = "syncing";
    for (const runnable of this.#runnables) if (runnable.runsWithoutLeadership) crew.start(runnable);
    const leadership = await this.#lead(crew);
    if (leadership !== undefined) {
      this.#phase = "running";
      onAbort(leadership.lost, () => crew.fail(leadership.lost.reason));
      for (const runnable of this.#runnables) if (!runnable.runsWithoutLeadership) crew.start(runnable);
      this.log.info("controllers started", { count: this.#runnables.length });
    }
    await crew.ended();
    // Another process may begin only when nothing acts any more.
    await leadership?.release();
  }

  /** Undefined if a stop or failure came first. */
  async #lead(crew: Crew) {
    const stopWarning = this.#warnUntilSynced();
    try {
      await this.informers.synced(crew.stopping).finally(stopWarning);
      this.#phase = "waiting for leadership";
      return await this.#election.acquire(crew.stopping);
    } catch (thrown) {
      if (!crew.stopping.aborted) crew.fail(thrown);
      return undefined;
    }
  }

  /** Nothing runs before every kind is read. */
  #warnUntilSynced(): () => void {
    let cancel = (): void => undefined;
    const arm = (): void => {
      cancel = this.clock.after(syncPatience, () => {
        this.log.warn("waiting for the API server: the controllers start when these kinds have been read", {
          kinds: this.informers.unsynced().join(", "),
        });
        arm();
      });
    };
    arm();
    return () => cancel();
  }

  async #close(): Promise<void> {
    for (const run of this.#onStopped.toReversed()) {
      try {
        run();
      } catch (thrown) {
        this.log.error("a part failed to stop", { error: messageOf(thrown) });
      }
    }
    await this.informers.close();
  }
}

/** Ends runnables politely (`stop`, then the grace) or at once (`fail`). */
class Crew {
  failure: unknown;
  readonly #grace: Millis;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #abort = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(grace: Millis, clock: Clock) {
    this.#grace = grace;
    this.#clock = clock;
    // Every part listens to them; Node warns of more than ten listeners.
    setMaxListeners(0, this.#stop.signal, this.#abort.signal);
  }

  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** A failing runnable stops all others; one that returns does not. */
  start(runnable: Runnable): void {
    const run = runnable
      .run({ stop: this.#stop.signal, abort: this.#abort.signal })
      .catch((thrown: unknown) => this.fail(thrown))
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  stop(): void {
    this.#stop.abort(new Error("the manager stops"));
  }

  /** The first failure counts. */
  fail(reason: unknown): void {
    this.failure ??= reason;
    this.#stop.abort(reason);
    this.#abort.abort(reason);
  }

  /** Waits for the stop and then for all runnables, at most for the grace. */
  async ended(): Promise<void> {
    await aborted(this.#stop.signal);
    const everybody = Promise.all(this.#running);
    const patience = new AbortController();
    await Promise.race([everybody, sleep(this.#clock, this.#grace, patience.signal).catch(() => undefined)]);
    patience.abort();
    this.#abort.abort(new Error("the grace is over"));
    await everybody;
  }
}
