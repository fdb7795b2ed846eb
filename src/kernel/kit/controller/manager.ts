import { setMaxListeners } from "node:events";
import { aborted, type Clock, type Logger, messageOf, type Millis, sleep, type Random } from "#lib/base/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
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

/** What a manager gives its controllers, and how it leads and stops. */
export interface ManagerOptions {
  readonly client: ApiClient;
  /** A client with the rights of whoever wrote an object; `client` where it is undefined, or absent because the API cannot tell. */
  readonly clientFor?: (object: KubeObject) => ApiClient | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** `alwaysLeader` unless told. */
  readonly election?: Election;
  readonly schedule?: Schedule;
  /** After a polite stop has lasted this long, everything is aborted; 10 s unless told. */
  readonly stopGrace?: Millis;
  /** Where its controllers count; metrics of its own unless told. One manager per `Metrics`. */
  readonly metrics?: Metrics;
}

/** Reading every kind takes less than this on a healthy server. */
const syncPatience: Millis = 10_000;

/** Where a manager is in its life; each comes after the one before. */
export type ManagerPhase = "new" | "syncing" | "waiting for leadership" | "running" | "stopping" | "stopped";

/**
 * Runs controllers over shared informers: mirrors are read first, then leadership is gained, then the controllers start; they stop in
 * the opposite order. `client` and `informers` are what its controllers use: a write through `client` is read back at once.
 */
export class Manager {
  readonly client: ApiClient;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly schedule: Schedule;
  /** For whatever else its controllers count. */
  readonly metrics: Metrics;
  readonly controllerMetrics: ControllerMetrics;
  readonly #clientFor: ManagerOptions["clientFor"];
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
    this.clock = clock;
    this.log = log;
    this.random = random;
    this.schedule = options.schedule ?? setImmediate;
    this.metrics = options.metrics ?? new Metrics();
    this.controllerMetrics = controllerMetrics(this.metrics);
    this.#election = options.election ?? alwaysLeader;
    this.#stopGrace = options.stopGrace ?? 10_000;
  }

  /**
   * For what a controller does because an object says so: nobody can have it do what he may not do himself. On a cluster, whose API does
   * not tell who wrote what, it is the manager's own.
   */
  clientFor(object: KubeObject): ApiClient {
    const acting = this.#clientFor?.(object);
    return acting === undefined ? this.client : freshClient(acting, this.informers);
  }

  /** What the manager is doing, for health checks: ready is `running` or `waiting for leadership`. */
  get phase(): ManagerPhase {
    return this.#phase;
  }

  /** What was added so far, in the order in which it is started. */
  get runnables(): readonly Runnable[] {
    return this.#runnables;
  }

  /** Adds something to run. Only before `run`. */
  add(runnable: Runnable): void {
    if (this.#phase !== "new") throw new Error(`${runnable.name} was added to a manager that has started`);
    if (this.#runnables.some(({ name }) => name === runnable.name))
      throw new Error(`the manager runs something named ${runnable.name} already`);
    this.#runnables.push(runnable);
  }

  /**
   * Calls `run` when all runnables have stopped, before the mirrors do; what was registered last is called first, so that parts end
   * before those they were made of. A `run` that throws is logged and keeps nobody else from stopping.
   */
  onStopped(run: () => void): void {
    this.#onStopped.push(run);
  }

  /** The mirror of a kind, shared with everybody who asks for the same, and given back when the manager has stopped. */
  mirror<T extends KubeObject = KubeObject>(type: ResourceType, scope?: Scope): Informer<T> {
    const share = this.informers.acquire<T>(type, scope);
    this.onStopped(() => share.release());
    return share.informer;
  }

  /**
   * A recorder of events for one controller. When the manager has stopped, what was recorded is still written, or dropped with a note in
   * the log; nobody waits for it.
   */
  recorder(options: Pick<EventRecorderOptions, "controller" | "instance" | "perObject">): EventRecorder {
    const { client, clock, log, schedule } = this;
    const recorder = eventRecorder({ client, clock, log, schedule, ...options });
    this.onStopped(() => void recorder.close());
    return recorder;
  }

  /** Runs until the signal aborts and everything has stopped. Rejects when leadership is lost or a runnable fails. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#phase !== "new") throw new Error("a manager runs once");
    const crew = new Crew(this.#stopGrace, this.clock);
    signal.addEventListener("abort", () => crew.stop(), { once: true });
    if (signal.aborted) crew.stop();
    crew.stopping.addEventListener("abort", () => (this.#phase = "stopping"), { once: true });
    try {
      await this.#runCrew(crew);
    } finally {
      await this.#close();
      this.#phase = "stopped";
    }
    if (crew.failure !== undefined) throw crew.failure;
  }

  /** From the first mirror to the last runnable. Failures are the crew's: this rejects only when giving leadership back does. */
  async #runCrew(crew: Crew): Promise<void> {
    this.#phase = "syncing";
    for (const runnable of this.#runnables) if (runnable.runsWithoutLeadership) crew.start(runnable);
    const leadership = await this.#lead(crew);
    if (leadership !== undefined) {
      this.#phase = "running";
      leadership.lost.addEventListener("abort", () => crew.fail(leadership.lost.reason), { once: true });
      for (const runnable of this.#runnables) if (!runnable.runsWithoutLeadership) crew.start(runnable);
      this.log.info("controllers started", { count: this.#runnables.length });
    }
    await crew.ended();
    // Only after nobody acts any more may somebody else begin.
    await leadership?.release();
  }

  /** Undefined when the stop or a failure came first. */
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

  /** Nothing runs before every kind is read, so the log names the kinds that keep the controllers waiting. */
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

  /** One part that fails to stop does not keep the others from it. */
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

/** The runnables at work, and the two ways to end them: politely (`stop`, then the grace) and at once (`fail`). */
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
    // Every part waits for them; Node would take more than ten for a leak and tell the user so.
    setMaxListeners(0, this.#stop.signal, this.#abort.signal);
  }

  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** A runnable that fails takes all others along; one that ends by itself does not. */
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

  /** Ends everything at once. The first failure is the one that counts. */
  fail(reason: unknown): void {
    this.failure ??= reason;
    this.#stop.abort(reason);
    this.#abort.abort(reason);
  }

  /** Waits for the stop and then for everybody, at most as long as the grace lasts. */
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
