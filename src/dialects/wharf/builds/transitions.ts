import { formatInstant, type Instant } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import { type BuildWord, canceledReason, isOver, phaseOf, wordOf } from "../state.ts";
import type { Build, BuildStatus } from "../kinds.ts";

// Scheduling, Running, then Completed or Failed. Pure: repeated and late reports change nothing.

// Reports come from aggregators, which repeat everything after a crash, and from the watchdog, which may be wrong.

export type Told = Pick<BuildStatus, "reason" | "message" | "stages" | "steps" | "outputs" | "logs" | "testResults">;

/** The only final reason that a later report may replace. */
export const workerLost = "WorkerLost";

const order: Readonly<Record<BuildWord, number>> = { Scheduling: 0, Running: 1, Completed: 2, Failed: 2 };

/** The new status, or undefined if nothing changes: ends are final and nothing goes backwards. A build that failed with
 * WorkerLost takes its true end. */
export function moved(build: Build, word: BuildWord, told: Told, now: Instant): BuildStatus | undefined {
  const { status = {} } = build;
  const before = wordOf(build);
  const isFound = before === "Failed" && status.reason === workerLost && isOver(word) && told.reason !== workerLost;
  if (isOver(before) && !isFound) return undefined;
  const next = order[word] < order[before] ? before : word;
  const { reason: _reason, message: _message, ...rest } = status;
  const at = formatInstant(now);
  const facts: BuildStatus = {
    ...rest,
    ...told,
    ...(next === "Failed" ? whyOf(build, told) : {}),
    status: next,
    scheduledOn: status.scheduledOn ?? build.metadata.creationTimestamp ?? at,
    ...(next === "Running" && status.startedOn === undefined ? { startedOn: at } : {}),
    ...(isOver(next) ? { finishedOn: isFound ? (status.finishedOn ?? at) : at } : {}),
  };
  const whole = completed({ ...build, status: facts }, now);
  return JSON.stringify(whole) === JSON.stringify(status) ? undefined : whole;
}

function whyOf({ spec }: Build, { reason, message }: Told): Told {
  if (spec.cancel === true) return { reason: canceledReason, message: "the build was canceled" };
  return { reason: reason ?? "BuildFailed", message: message ?? "the build has failed" };
}

function completed(build: Build, now: Instant): BuildStatus {
  const { status = {}, metadata } = build;
  const word = wordOf(build);
  const { conditions = [], reason, message } = status;
  const told = { reason: reason ?? word, message: message ?? "", observedGeneration: metadata.generation ?? 1 };
  const put = (list: readonly Condition[], type: "Complete" | "Failed", is: boolean): readonly Condition[] =>
    withCondition(list, { type, status: is ? "True" : "False", ...told }, now);
  const ended = isOver(word) ? put(put(conditions, "Complete", word === "Completed"), "Failed", word === "Failed") : [];
  return {
    ...status,
    phase: phaseOf(build),
    observedGeneration: metadata.generation ?? 1,
    ...(isOver(word) ? { conditions: ended } : {}),
  };
}

export const triggered = (build: Build, workerId: string, now: Instant): BuildStatus =>
  completed(
    {
      ...build,
      status: {
        ...withoutNote(build).status,
        status: wordOf(build),
        scheduledOn: build.status?.scheduledOn ?? build.metadata.creationTimestamp ?? formatInstant(now),
        workerId,
      },
    },
    now,
  );

export const triggerUnknown = "TriggerUnknown";

/** Stored before an engine is asked that would start another worker if it were asked again. */
export const notAnswered =
  "the engine did not answer the request for a worker and is not asked again, because it would start another";

export function perhapsTriggered(build: Build, message: string, now: Instant): BuildStatus {
  const { workerId = "" } = build.status ?? {};
  const status = triggered(build, workerId, now);
  return wordOf(build) === "Scheduling" && workerId === "" ? { ...status, reason: triggerUnknown, message } : status;
}

export function withoutNote<B extends Build>(build: B): B {
  if (build.status?.reason !== triggerUnknown) return build;
  const { reason: _reason, message: _message, workerId: _workerId, ...status } = build.status;
  return { ...build, status };
}

export function untriggered(build: Build, reason: string, message: string, now: Instant): BuildStatus | undefined {
  // Its worker has reported, whatever became of the request.
  if (wordOf(build) === "Running") return undefined;
  const failed = moved(build, "Failed", { reason, message }, now);
  return failed === undefined ? undefined : { ...failed, isInvalid: true };
}
