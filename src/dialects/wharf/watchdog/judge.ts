import type { Instant, Millis } from "#lib/base/index.ts";

/** A worker as its provisioner tells of it. */
export interface SeenWorker {
  readonly workerId: string;
  /** 0 where it is of no build that has a number. */
  readonly buildId: number;
  /** Nothing will come of it any more but its results. */
  readonly isFinal: boolean;
  readonly createdAt: Instant;
  readonly finishedAt?: Instant | undefined;
}

/** A build that has not ended, as wharf-api tells of it. */
export interface ActiveBuild {
  readonly buildId: number;
  /** Empty while nobody is known to run it. */
  readonly workerId: string;
  /** Its worker has told of itself. */
  readonly isRunning: boolean;
  /** Its engine was asked for a worker and has told nothing. Whoever has asked gives that worker its time, which is not over. */
  readonly mayHaveWorker: boolean;
  /** When it was asked for, or stored. */
  readonly scheduledOn: Instant;
}

/** How long things may be on their way. */
export interface WatchdogLimits {
  /** What is younger is left alone: its other half may be about to appear. */
  readonly minAgeMs: Millis;
  /** A worker whose build has ended counts as being there for so long: its results are being carried over. */
  readonly drainingMs: Millis;
}

export const usualLimits: WatchdogLimits = { minAgeMs: 60_000, drainingMs: 600_000 };

/** Why a build without a worker has failed. */
export type LossReason = "WorkerLost" | "WorkerNeverStarted";

/** What does not fit together. Both are looked at once more before anything is done. */
export interface Verdict {
  /** Workers of builds that have ended, or never were. */
  readonly strays: readonly SeenWorker[];
  /** Builds that nobody runs. */
  readonly missing: readonly { readonly build: ActiveBuild; readonly reason: LossReason }[];
}

/** Times in the future are those of a clock that is ahead. */
const ageOf = (since: Instant, now: Instant): Millis => Math.max(0, now - since);

/** Whether anybody has ever known of a worker of a build. */
const wasThere = ({ workerId, isRunning }: ActiveBuild): boolean => workerId !== "" || isRunning;

/** What a look at all workers and all active builds shows. Pure; an age that equals its limit has reached it. */
export function judge(
  workers: readonly SeenWorker[],
  builds: readonly ActiveBuild[],
  now: Instant,
  { minAgeMs, drainingMs }: WatchdogLimits = usualLimits,
): Verdict {
  const activeIds = new Set(builds.map(({ buildId }) => buildId));
  const activeWorkers = new Set(builds.map(({ workerId }) => workerId).filter((id) => id !== ""));
  // Provisioners that do not tell the builds of their workers: each that nobody knows may be that of any build that runs, or may run, without a name.
  const isNameless = ({ workerId, isRunning, mayHaveWorker }: ActiveBuild): boolean =>
    workerId === "" && (isRunning || mayHaveWorker);
  const isUnclaimed = ({ workerId, buildId }: SeenWorker): boolean => buildId === 0 && !activeWorkers.has(workerId);
  const hasNameless = builds.some(isNameless);
  const strays = workers.filter(
    (worker) =>
      !activeWorkers.has(worker.workerId) &&
      !activeIds.has(worker.buildId) &&
      !(hasNameless && isUnclaimed(worker)) &&
      ageOf(worker.createdAt, now) >= minAgeMs,
  );
  // One that ended at a time that nobody tells may have done so just now, as long as it is young itself.
  const present = workers.filter(
    ({ isFinal, createdAt, finishedAt }) => !isFinal || ageOf(finishedAt ?? createdAt, now) < drainingMs,
  );
  const presentIds = new Set(present.map(({ buildId }) => buildId));
  const presentWorkers = new Set(present.map(({ workerId }) => workerId));
  const hasUnclaimed = present.some(isUnclaimed);
  const missing = builds
    .filter(
      (build) =>
        !presentIds.has(build.buildId) &&
        !presentWorkers.has(build.workerId) &&
        !build.mayHaveWorker &&
        !(hasUnclaimed && isNameless(build)) &&
        ageOf(build.scheduledOn, now) >= minAgeMs,
    )
    .map((build) => ({ build, reason: wasThere(build) ? "WorkerLost" : "WorkerNeverStarted" }) as const);
  return { strays, missing };
}

/** Below this many nothing is held back. */
const braked = 10;

/**
 * Whether so many builds would be failed that the fault is more likely ours: more than ten, and more than half of them. What was seen in the
 * round before, too, is believed.
 */
export function isHeldBack(
  missing: readonly number[],
  active: number,
  before: ReadonlySet<number> | undefined,
): boolean {
  if (missing.length <= braked || missing.length * 2 <= active) return false;
  return before === undefined || missing.length !== before.size || !missing.every((id) => before.has(id));
}
