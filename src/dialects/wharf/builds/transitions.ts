import { formatInstant, type Instant } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import { type BuildWord, canceledReason, isOver, phaseOf, wordOf } from "../build-status.ts";
import type { Build, BuildStatus } from "../kinds.ts";

// Scheduling, then Running, then Completed or Failed. Pure: what is stored decides, so that what is told twice or late changes nothing.

// Who tells states are the collectors of results, which begin anew after a crash and tell everything again, and the watchdog, which may be wrong
// about a worker that is only slow.

/** What somebody tells of a build beside its word: parts that are absent stay as they are. */
export type Told = Pick<BuildStatus, "reason" | "message" | "stages" | "steps" | "outputs" | "logs" | "testResults">;

/** Why a build has failed of which nothing was heard any more. It is the one end that is not the last word. */
export const workerLost = "WorkerLost";

/** How far a state is; both ends are equally far. */
const order: Readonly<Record<BuildWord, number>> = { Scheduling: 0, Running: 1, Completed: 2, Failed: 2 };

/**
 * The status of a build that is told to be in a state. Undefined where that changes nothing: an end absorbs whatever comes after it, and nothing
 * goes backwards. A build that was given up because its worker was lost takes its true end, should the worker have one after all.
 */
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

/** A build that was to be ended and has failed has failed because of that. */
function whyOf({ spec }: Build, { reason, message }: Told): Told {
  if (spec.cancel === true) return { reason: canceledReason, message: "the build was canceled" };
  return { reason: reason ?? "BuildFailed", message: message ?? "the build has failed" };
}

/** What follows from the facts: the phase, and the conditions for whoever waits for an end. */
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

/** The status of a build whose worker was started. */
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

/** Why a build waits for a worker that nobody has told of. */
export const triggerUnknown = "TriggerUnknown";

/** What is noted of a build before an engine is asked that would start another worker if it were asked again. */
export const notAnswered =
  "the engine was asked for a worker, and no answer is known; it is not asked again, because it would start another";

/** The status of a build of which nobody knows whether a worker was started, and whose engine is not asked again. */
export function perhapsTriggered(build: Build, message: string, now: Instant): BuildStatus {
  const { workerId = "" } = build.status ?? {};
  const status = triggered(build, workerId, now);
  return wordOf(build) === "Scheduling" && workerId === "" ? { ...status, reason: triggerUnknown, message } : status;
}

/** A build as it was before `perhapsTriggered`: its engine has answered after all. */
export function withoutNote<B extends Build>(build: B): B {
  if (build.status?.reason !== triggerUnknown) return build;
  const { reason: _reason, message: _message, workerId: _workerId, ...status } = build.status;
  return { ...build, status };
}

/** The status of a build that nobody could be found to run; undefined where somebody runs it after all, or it is over. */
export function untriggered(build: Build, reason: string, message: string, now: Instant): BuildStatus | undefined {
  // Its worker has told of itself, whatever became of the answer to who has asked for it.
  if (wordOf(build) === "Running") return undefined;
  const failed = moved(build, "Failed", { reason, message }, now);
  return failed === undefined ? undefined : { ...failed, isInvalid: true };
}
