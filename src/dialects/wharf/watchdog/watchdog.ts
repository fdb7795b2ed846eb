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

/** What a watchdog is a client of. Everything rejects where it is not certain, and nothing is done then. */
export interface Watched {
  /** All workers. */
  workers(signal: AbortSignal): Promise<readonly SeenWorker[]>;
  /** All builds that have not ended, of engines that those workers are of. */
  activeBuilds(signal: AbortSignal): Promise<readonly ActiveBuild[]>;
  /** Whether a build has not ended; one that does not exist has. */
  isActive(buildId: number, signal: AbortSignal): Promise<boolean>;
  deleteWorker(workerId: string, signal: AbortSignal): Promise<void>;
  failBuild(buildId: number, reason: LossReason, signal: AbortSignal): Promise<void>;
}

/** What a watchdog has besides what it watches. */
export interface WatchdogParts {
  readonly watched: Watched;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Between rounds; 5 minutes unless told, and a tenth more or less. */
  readonly intervalMs?: Millis;
  readonly limits?: WatchdogLimits;
  /** There is nothing to compare, and nobody is to be woken for it; never unless told. */
  readonly isIdle?: () => boolean;
}

const usualInterval: Millis = 300_000;

/**
 * Compares workers and builds every few minutes, and ends what has lost its other half. It keeps nothing but what it held back in the round
 * before: after a restart it believes less at first.
 */
export class Watchdog {
  readonly #parts: WatchdogParts;
  #held: ReadonlySet<number> | undefined;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
  }

  /** Round after round until the signal, the first one at once, never two at a time. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, intervalMs = usualInterval, isIdle = () => false } = this.#parts;
    while (!signal.aborted) {
      if (!isIdle()) await this.round(signal);
      // Several watchdogs, or one and a cron job, shall not meet for ever.
      await sleep(clock, Math.round(intervalMs * (0.9 + random() * 0.2)), signal).catch(() => undefined);
    }
  }

  /** One comparison. Never rejects: what fails is a warning, and tried again by the next one. */
  async round(signal: AbortSignal): Promise<void> {
    const { watched, clock, log, limits = usualLimits } = this.#parts;
    let seen: readonly [readonly SeenWorker[], readonly ActiveBuild[]];
    try {
      seen = await Promise.all([watched.workers(signal), watched.activeBuilds(signal)]);
    } catch (thrown) {
      if (!signal.aborted)
        log.warn("workers and builds cannot be compared; nothing is done", { error: messageOf(thrown) });
      return;
    }
    const [workers, builds] = seen;
    const { strays, missing } = judge(workers, builds, clock.now(), limits);
    for (const worker of strays)
      await this.#try("a stray worker stays", { worker: worker.workerId }, signal, () =>
        this.#endStray(worker, signal),
      );
    const ids = missing.map(({ build }) => build.buildId);
    const isHeld = isHeldBack(ids, builds.length, this.#held);
    this.#held = isHeld ? new Set(ids) : undefined;
    if (isHeld)
      return log.error("most builds have no worker; they are failed if the next round sees the same", {
        missing: ids.length,
        active: builds.length,
      });
    for (const { build, reason } of missing)
      await this.#try("a build without a worker stays", { build: build.buildId }, signal, () =>
        this.#fail(build, reason, signal),
      );
  }

  /** Its build may have begun after the builds were listed. */
  async #endStray({ workerId, buildId }: SeenWorker, signal: AbortSignal): Promise<void> {
    const { watched, log } = this.#parts;
    if (buildId > 0 && (await watched.isActive(buildId, signal))) return;
    await watched.deleteWorker(workerId, signal);
    log.warn("a worker without a build is ended", { worker: workerId, build: buildId });
  }

  /** It may have ended after the builds were listed. */
  async #fail({ buildId, workerId }: ActiveBuild, reason: LossReason, signal: AbortSignal): Promise<void> {
    const { watched, log } = this.#parts;
    if (!(await watched.isActive(buildId, signal))) return;
    await watched.failBuild(buildId, reason, signal);
    log.warn("a build without a worker has failed", { build: buildId, worker: workerId, reason });
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
