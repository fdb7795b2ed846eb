import { type Clock, type Logger, messageOf, type Millis, type Random, sleep } from "#lib/base/index.ts";
import {
  type ActiveBuild,
  isHeldBack,
  judge,
  type LossReason,
  type SeenWorker,
  usualLimits,
  type WatchdogLimits,
} from "./judge.ts";

/** Rejects if uncertain, and then nothing is done. */
export interface Watched {
  workers(signal: AbortSignal): Promise<readonly SeenWorker[]>;
  activeBuilds(signal: AbortSignal): Promise<readonly ActiveBuild[]>;
  /** A missing build has ended. */
  isActive(buildId: number, signal: AbortSignal): Promise<boolean>;
  deleteWorker(workerId: string, signal: AbortSignal): Promise<void>;
  failBuild(buildId: number, reason: LossReason, signal: AbortSignal): Promise<void>;
}

export interface WatchdogParts {
  readonly watched: Watched;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly intervalMs?: Millis;
  readonly limits?: WatchdogLimits;
  readonly isIdle?: () => boolean;
}

const usualInterval: Millis = 300_000;

/** Periodically ends workers and builds that lost each other. */
export class Watchdog {
  readonly #parts: WatchdogParts;
  #held: ReadonlySet<number> | undefined;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, intervalMs = usualInterval, isIdle = () => false } = this.#parts;
    while (!signal.aborted) {
      if (!isIdle()) await this.round(signal);
      // Random, so that several watchdogs do not coincide.
      await sleep(clock, Math.round(intervalMs * (0.9 + random() * 0.2)), signal).catch(() => undefined);
    }
  }

  /** Never rejects: failures are logged and retried in the next round. */
  async round(signal: AbortSignal): Promise<void> {
    const { watched, clock, log, limits = usualLimits } = this.#parts;
    let seen: readonly [readonly SeenWorker[], readonly ActiveBuild[]];
    try {
      seen = await Promise.all([watched.workers(signal), watched.activeBuilds(signal)]);
    } catch (thrown) {
      if (!signal.aborted) log.warn("comparing workers and builds failed", { error: messageOf(thrown) });
      return;
    }
    const [workers, builds] = seen;
    const { strays, missing } = judge(workers, builds, clock.now(), limits);
    for (const worker of strays)
      await this.#try("stopping an orphaned worker failed", { worker: worker.workerId }, signal, () =>
        this.#endStray(worker, signal),
      );
    const ids = missing.map(({ build }) => build.buildId);
    const isHeld = isHeldBack(ids, builds.length, this.#held);
    this.#held = isHeld ? new Set(ids) : undefined;
    if (isHeld)
      return log.error("most builds have no worker; they fail if the next check agrees", {
        missing: ids.length,
        active: builds.length,
      });
    for (const { build, reason } of missing)
      await this.#try("failing a build without a worker failed", { build: build.buildId }, signal, () =>
        this.#fail(build, reason, signal),
      );
  }

  /** The build may have begun after the list. */
  async #endStray({ workerId, buildId }: SeenWorker, signal: AbortSignal): Promise<void> {
    const { watched, log } = this.#parts;
    if (buildId > 0 && (await watched.isActive(buildId, signal))) return;
    await watched.deleteWorker(workerId, signal);
    log.warn("stopped a worker without a build", { worker: workerId, build: buildId });
  }

  async #fail({ buildId, workerId }: ActiveBuild, reason: LossReason, signal: AbortSignal): Promise<void> {
    const { watched, log } = this.#parts;
    if (!(await watched.isActive(buildId, signal))) return;
    await watched.failBuild(buildId, reason, signal);
    log.warn("failed a build without a worker", { build: buildId, worker: workerId, reason });
  }

  async #try(what: string, which: object, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    if (signal.aborted) return;
    try {
      await act();
    } catch (thrown) {
      this.#parts.log.warn(`${what}; tried again in the next round`, { ...which, error: messageOf(thrown) });
    }
  }
}
