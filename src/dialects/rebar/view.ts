import { isJsonObject, parseInstant, textAt } from "#lib/base/index.ts";
import type { ActionName, ObjectRef, RunPhase, RunView, StepPhase, StepView } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { sinceOf, whyNot } from "./messages.ts";
import { type Job, zeroTime } from "./objects.ts";
import type { EndedJob } from "./times.ts";
import { entryIds, isCanceled, isRoll, stateOf, type TaskListState } from "./state.ts";

/** A machine as a run whose steps are the entries of its task list. */
export function viewMachine(object: KubeObject): RunView {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, uid } = metadata;
  const state = stateOf(object);
  const ref: ObjectRef = {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
  const phase = phaseOf(state);
  const ids = entryIds(state.entries);
  const steps = state.entries.map((_entry, at) => viewEntry(state, at, ids, ref));
  return {
    ref,
    dialect: "rebar",
    name: name === "" ? (metadata.generateName ?? "") : name,
    ...titleOf(object.spec, name),
    phase,
    nativePhase: nativePhase(state),
    number: 1,
    createdAt: parseInstant(metadata.creationTimestamp ?? "") ?? 0,
    ...timesOf(state, phase),
    ...reasonOf(state, phase),
    progress: { done: steps.filter(({ phase }) => phase === "Succeeded").length, total: steps.length },
    steps,
    children: [],
    actions: metadata.deletionTimestamp === undefined ? actionsOf(phase) : [],
  };
}

function titleOf(spec: unknown, name: string): Pick<RunView, "title"> {
  const title = isJsonObject(spec) ? textAt(spec, "Name") : undefined;
  return title === undefined || title === "" || title === name ? {} : { title };
}

const instantOf = (time: string): number | undefined => (time === zeroTime ? undefined : parseInstant(time));

function timesOf({ job, begun }: TaskListState, phase: RunPhase) {
  const isOver = phase === "Succeeded" || phase === "Failed" || phase === "Canceled";
  const end = isOver && job !== undefined ? instantOf(job.EndTime) : undefined;
  return {
    ...(begun === undefined ? {} : { startedAt: begun }),
    ...(end === undefined ? {} : { finishedAt: end }),
  };
}

const isDone = ({ entries, cursor = -1 }: TaskListState): boolean => cursor >= entries.length;

function phaseOf(state: TaskListState): RunPhase {
  const { cursor, job, isRunnable, isAvailable } = state;
  if (cursor === undefined) return state.errors.length > 0 ? "Failed" : "Pending";
  if (isDone(state)) return "Succeeded";
  const isAtJob = job?.CurrentIndex === cursor;
  if (isAtJob && isRunning(job)) return "Running";
  if (isRunnable) return cursor === -1 ? "Pending" : "Running";
  if (isAtJob && job.State === "failed") return isCanceled(job) ? "Canceled" : "Failed";
  return isAvailable ? "Suspended" : "Pending";
}

const isRunning = ({ State }: Job): boolean => State === "created" || State === "running";

/** `Runnable`, `failed`: words of the original. */
function nativePhase(state: TaskListState): string {
  const { cursor, job, isRunnable, entries } = state;
  if (cursor === undefined) return "";
  if (entries.length === 0) return "Idle";
  if (isDone(state)) return "Complete";
  if (job?.CurrentIndex === cursor) return `${job.State}${isRunnable ? "" : ", not Runnable"}`;
  return isRunnable ? "Runnable" : "not Runnable";
}

function reasonOf(state: TaskListState, phase: RunPhase): { readonly reason?: string; readonly message?: string } {
  const { job, isAvailable, errors } = state;
  if (!isAvailable && errors.length > 0) return { reason: "NotAvailable", message: whyNot.unavailable(errors) };
  if (phase === "Failed" && job !== undefined)
    return { reason: "JobFailed", message: `task ${job.Task} failed: job ${job.Uuid}` };
  if (phase === "Canceled" && job !== undefined)
    return { reason: "Canceled", message: `task ${job.Task} was canceled` };
  if (phase !== "Suspended") return {};
  return { reason: "NotRunnable", message: whyNot.notRunnable(sinceOf(job)) };
}

const actionsOf = (phase: RunPhase): readonly ActionName[] => {
  if (phase === "Succeeded") return ["retry"];
  if (phase === "Failed" || phase === "Canceled") return ["retry", "resume"];
  return phase === "Suspended" ? ["resume", "cancel", "retry"] : ["suspend", "cancel"];
};

function viewEntry(state: TaskListState, at: number, ids: readonly string[], run: ObjectRef): StepView {
  const entry = state.entries[at] ?? "";
  const id = ids[at] ?? entry;
  const before = ids[at - 1];
  const { job } = state;
  const own = job?.CurrentIndex === at ? job : undefined;
  const phase = entryPhase(state, at, own);
  const stage = stageAt(state.entries, at);
  const hasLog = own !== undefined || (phase === "Succeeded" && !isRoll(entry));
  return {
    id,
    name: entry,
    ...(stage === undefined || isRoll(entry) ? {} : { group: stage }),
    phase,
    ...(own === undefined ? {} : { nativePhase: own.State }),
    dependencies: before === undefined ? [] : [before],
    waitingFor: before === undefined || phase !== "Pending" || entryDone(state, at - 1) ? [] : [before],
    rank: at,
    ...attemptsOf(own, state.ended.get(at) ?? [], phase),
    ...entryReason(state, own, phase),
    logs: hasLog ? [{ name: entry, object: run, container: id, isOwn: true, attempt: 1 }] : [],
    artifacts: [],
    actions: [],
  };
}

type Times = Pick<StepView, "startedAt" | "finishedAt">;

/** Several jobs of one entry are attempts of its step. */
function attemptsOf(own: Job | undefined, ended: readonly EndedJob[], phase: StepPhase) {
  const isOver = own === undefined || !isRunning(own);
  const now = own === undefined || (isOver && own.State !== "incomplete") ? ended.at(-1) : undefined;
  const before = now === undefined ? ended : ended.slice(0, -1);
  const times = own === undefined ? timesOfEnded(now) : entryTimes(own);
  const [first] = ended;
  const isThere = own !== undefined || now !== undefined || phase === "Succeeded";
  const attempt = isThere ? before.length + 1 : 0;
  if (before.length === 0 || first === undefined) return { attempt, ...times };
  return {
    attempt,
    ...times,
    startedAt: first.startedAt,
    ...(times.startedAt === undefined ? {} : { attemptAt: times.startedAt }),
    earlier: before.map((job, index) => ({
      attempt: index + 1,
      ...timesOfEnded(job),
      ...(job.hasFailed ? { reason: "Failed", message: "the job failed" } : {}),
    })),
  };
}

const timesOfEnded = (job: EndedJob | undefined): Times =>
  job === undefined ? {} : { startedAt: job.startedAt, finishedAt: job.finishedAt };

function entryTimes({ StartTime, EndTime, State }: Job): Times {
  const [start, end] = [
    instantOf(StartTime),
    State === "created" || State === "running" ? undefined : instantOf(EndTime),
  ];
  return { ...(start === undefined ? {} : { startedAt: start }), ...(end === undefined ? {} : { finishedAt: end }) };
}

const stageAt = (entries: readonly string[], at: number): string | undefined =>
  entries
    .slice(0, at + 1)
    .findLast((entry) => entry.startsWith("stage:"))
    ?.slice("stage:".length);

function entryPhase(state: TaskListState, at: number, own: Job | undefined): StepPhase {
  const { cursor, isRunnable, entries } = state;
  if (cursor === undefined) return "Pending";
  if (at < cursor) return "Succeeded";
  if (at === cursor && own !== undefined) return ofJob(own, isRunnable);
  if (at === cursor && isRoll(entries[at] ?? "")) return "Succeeded";
  const isNext = at === nextOf(state);
  if (!isNext) return "Pending";
  return isRunnable ? "Waiting" : "Suspended";
}

const entryDone = (state: TaskListState, at: number): boolean => {
  const own = state.job?.CurrentIndex === at ? state.job : undefined;
  return entryPhase(state, at, own) === "Succeeded";
};

function ofJob(job: Job, isRunnable: boolean): StepPhase {
  switch (job.State) {
    case "created":
      return "Starting";
    case "running":
      return "Running";
    case "finished":
      return "Succeeded";
    case "incomplete":
      return isRunnable ? "Waiting" : "Suspended";
    case "failed":
      if (isRunnable) return "Waiting";
      return isCanceled(job) ? "Canceled" : "Failed";
  }
}

/** The entry that the next request for work looks at first. */
function nextOf({ cursor = -1, job, entries }: TaskListState): number {
  if (cursor < 0) return 0;
  const isOver = isRoll(entries[cursor] ?? "") || (job?.CurrentIndex === cursor && job.State === "finished");
  return isOver ? cursor + 1 : cursor;
}

function entryReason(state: TaskListState, own: Job | undefined, phase: StepPhase) {
  if (phase === "Waiting") return { reason: "Agent", message: whyNot.agent(state.context) };
  if (phase === "Failed") return { reason: "Failed", message: own === undefined ? "" : `job ${own.Uuid} failed` };
  if (phase === "Suspended") return { reason: "NotRunnable", message: whyNot.notRunnable(sinceOf(state.job)) };
  return {};
}

/** Why it does not start before someone changes it; a machine that waits for its person may go on by itself. */
export function refusalOf(object: KubeObject): string | undefined {
  const { cursor, errors } = stateOf(object);
  return cursor === undefined && errors.length > 0 ? errors.join("; ") : undefined;
}
