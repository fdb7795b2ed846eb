import type { Instant, Millis } from "#lib/base/index.ts";

export interface SeenWorker {
  readonly workerId: string;
  readonly buildId: number;
  readonly isFinal: boolean;
  readonly createdAt: Instant;
  readonly finishedAt?: Instant | undefined;
}

export interface ActiveBuild {
  readonly buildId: number;
  readonly workerId: string;
  readonly isRunning: boolean;
  /** The engine was asked without an answer; the controller still waits. */
  readonly mayHaveWorker: boolean;
  readonly scheduledOn: Instant;
}

export interface WatchdogLimits {
  /** Younger workers and builds are left alone: their counterpart may be about to appear. */
  readonly minAgeMs: Millis;
  /** A finished worker counts as present this long, while its results are transferred. */
  readonly drainingMs: Millis;
}

export const usualLimits: WatchdogLimits = { minAgeMs: 60_000, drainingMs: 600_000 };

export type LossReason = "WorkerLost" | "WorkerNeverStarted";

export interface Verdict {
  readonly strays: readonly SeenWorker[];
  readonly missing: readonly { readonly build: ActiveBuild; readonly reason: LossReason }[];
}

/** Future times are clock differences. */
const ageOf = (since: Instant, now: Instant): Millis => Math.max(0, now - since);

const wasThere = ({ workerId, isRunning }: ActiveBuild): boolean => workerId !== "" || isRunning;

/** Pure; both lists are checked again before anything is done. */
export function judge(
  workers: readonly SeenWorker[],
  builds: readonly ActiveBuild[],
  now: Instant,
  { minAgeMs, drainingMs }: WatchdogLimits = usualLimits,
): Verdict {
  const activeIds = new Set(builds.map(({ buildId }) => buildId));
  const activeWorkers = new Set(builds.map(({ workerId }) => workerId).filter((id) => id !== ""));
  // Provisioners may not report builds: an unclaimed worker may belong to any build without a worker's name.
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
  // Without an end time, the worker's age counts.
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

const braked = 10;

/** More than ten and more than half of the builds would fail, so the fault is probably elsewhere; believed if the next
 * round agrees. */
export function isHeldBack(
  missing: readonly number[],
  active: number,
  before: ReadonlySet<number> | undefined,
): boolean {
  if (missing.length <= braked || missing.length * 2 <= active) return false;
  return before === undefined || missing.length !== before.size || !missing.every((id) => before.has(id));
}
