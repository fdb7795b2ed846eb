import { err, type JsonObject, jsonEquals, ok, type Result } from "#lib/base/index.ts";
import { alreadyExists, type ModelError, refusal, unsoundObject } from "../failure.ts";
import { type Job, type Machine, zeroTime, zeroUuid } from "../objects.ts";
import type { World } from "../world.ts";
import { isRollEntry, readEntry } from "../model/entries.ts";
import { isUuid } from "../model/names.ts";
import { made as blank, readObject } from "../model/read.ts";
import { syntaxErrors } from "../model/syntax.ts";
import { isComplete, settled } from "./machine.ts";

/** The body of `POST /jobs`. */
export interface JobRequest {
  readonly Machine: string;
  readonly Context: string;
  /** Empty: the server chooses one. */
  readonly Uuid: string;
}

export interface MadeJob {
  /** RFC 3339. */
  readonly now: string;
  readonly uuid: string;
}

/** The outcome of `POST /jobs`. */
export type NextJob =
  | { readonly kind: "refused"; readonly error: ModelError }
  /** 204; nothing is written. */
  | { readonly kind: "nothing" }
  /** 202 with the incomplete job, unchanged. */
  | { readonly kind: "again"; readonly job: Job }
  | {
      readonly kind: "commit";
      readonly code: 201 | 204;
      readonly machine: Machine;
      /** The new current job. Absent at the end of the list: the current job stays. */
      readonly job?: Job;
      /** Lines to append to the new job's log. */
      readonly log: readonly string[];
      /** The previous current job, if it changed: not `Current` if a new job replaces it, failed if abandoned. */
      readonly superseded?: Job;
      /** Run this without locking the machine, then set the job `finished` or `failed` with `changeJob`. */
      readonly action?: { readonly plugin?: string; readonly command: string };
    };

export function readJobRequest(sent: JsonObject): Result<JobRequest, ModelError> {
  const read = readObject("jobs", sent);
  if (!read.ok) return read;
  const { Machine, Context, Uuid } = read.value;
  if (Machine === "") return err(refusal(400, "", "jobs", Uuid, "Create request must have Machine field"));
  if (Uuid !== "" && !isUuid(Uuid)) return err(refusal(400, "", "jobs", Uuid, `Invalid Uuid \`${Uuid}\``));
  return ok({ Machine, Context, Uuid });
}

const conflict = (machine: Machine, text: string): NextJob => ({
  kind: "refused",
  error: refusal(409, "Conflict", "jobs", "", `Machine ${machine.Uuid} ${text}`),
});

/** Determines what a machine does next. `currentJob` is the job that `machine.CurrentJob` names, if it exists. */
export function nextJob(
  machine: Machine | undefined,
  currentJob: Job | undefined,
  request: JobRequest,
  world: World,
  made: MadeJob,
): NextJob {
  if (machine === undefined) {
    const error = refusal(422, "ValidationError", "jobs", request.Uuid, `Machine ${request.Machine} does not exist`);
    return { kind: "refused", error };
  }
  if (!machine.Runnable || !machine.Available) return conflict(machine, "is not runnable");
  if (machine.CurrentTask >= machine.Tasks.length || machine.Context !== request.Context) return { kind: "nothing" };
  if (request.Uuid !== "" && (request.Uuid === currentJob?.Uuid || world.get("jobs", request.Uuid) !== undefined)) {
    return { kind: "refused", error: alreadyExists("jobs", request.Uuid) };
  }
  const { state, previous } = takeOver(machine, currentJob, request, made);
  const index = Math.max(0, machine.CurrentTask);
  switch (state) {
    case "created":
    case "running":
      return conflict(machine, "already has running or created job");
    case "incomplete":
      return previous === undefined ? { kind: "nothing" } : { kind: "again", job: previous };
    case "finished":
      return moveTo(index + 1, { machine, currentJob, previous, request, world, made });
    case "failed":
      return moveTo(index, { machine, currentJob, previous, request, world, made });
  }
}

/**
 * Returns the effective state of the current job, and the job itself. If the list was moved, replaced or rolled away
 * from the job's entry, the job counts as failed; if it has not ended, it is marked failed.
 */
function takeOver(
  machine: Machine,
  job: Job | undefined,
  request: JobRequest,
  made: MadeJob,
): { readonly state: Job["State"]; readonly previous: Job | undefined } {
  if (job === undefined) return { state: "failed", previous: undefined };
  const isElsewhere =
    machine.CurrentTask === -1 ||
    isRollEntry(machine.Tasks[machine.CurrentTask] ?? "") ||
    job.CurrentIndex !== machine.CurrentTask;
  if (!isElsewhere) return { state: job.State, previous: job };
  const isLeft =
    job.State === "running" ||
    job.State === "incomplete" ||
    (job.State === "created" && job.Context !== request.Context);
  if (!isLeft) return { state: job.State === "created" ? "created" : "failed", previous: job };
  return { state: "failed", previous: { ...job, State: "failed", ExitState: "failed", EndTime: made.now } };
}

interface Move {
  readonly machine: Machine;
  readonly currentJob: Job | undefined;
  /** `currentJob`, possibly marked failed. */
  readonly previous: Job | undefined;
  readonly request: JobRequest;
  readonly world: World;
  readonly made: MadeJob;
}

interface Rolled {
  readonly Stage: string;
  readonly BootEnv: string;
  readonly Context: string;
  /** The first entry that is not a roll entry, or the length of the list. */
  readonly index: number;
  readonly log: readonly string[];
}

/** Applies consecutive `stage:`, `bootenv:` and `context:` entries. */
function roll(machine: Machine, from: number): Rolled {
  let { Stage, BootEnv, Context } = machine;
  const log: string[] = [];
  let index = from;
  for (; index < machine.Tasks.length; index++) {
    const text = machine.Tasks[index] ?? "";
    if (!isRollEntry(text)) break;
    const name = text.slice(text.indexOf(":") + 1);
    if (text.startsWith("stage:")) {
      if (name !== Stage) log.push(`Stage changed from ${quoted(Stage)} to ${quoted(name)}`);
      Stage = name;
    } else if (text.startsWith("bootenv:")) {
      if (name !== BootEnv) log.push(`BootEnv changed from ${quoted(BootEnv)} to ${quoted(name)}`);
      BootEnv = name;
    } else {
      if (name !== Context) log.push(`Context changed from ${quoted(Context)} to ${quoted(name)}`);
      Context = name;
    }
  }
  return { Stage, BootEnv, Context, index, log };
}

const quoted = (name: string): string => `"${name}"`;

function moveTo(from: number, move: Move): NextJob {
  const { machine } = move;
  const rolled = roll(machine, from);
  const { Stage, BootEnv, Context, index } = rolled;
  if (Stage !== machine.Stage || BootEnv !== machine.BootEnv || Context !== machine.Context) {
    return commitRoll(move, rolled);
  }
  const entry = machine.Tasks[index];
  if (entry === undefined) return commit(move, 204, { CurrentTask: index }, undefined, []);
  const { request, made } = move;
  const job: Job = {
    ...newJob(move, machine, entry, index),
    Uuid: request.Uuid === "" ? made.uuid : request.Uuid,
    Context: request.Context,
  };
  const at = { CurrentTask: index, CurrentJob: job.Uuid };
  if (entry.startsWith("chroot:")) {
    const failed: Job = { ...job, State: "failed", ExitState: "failed", EndTime: made.now };
    return commit(move, 204, { ...at, Runnable: false }, failed, ["chroot entries are not supported"]);
  }
  if (!entry.startsWith("action:")) return commit(move, 201, at, job, []);
  const read = readEntry(entry);
  const { plugin, command } = read.kind === "action" ? read : { plugin: undefined, command: "" };
  const started = commit(move, 201, at, { ...job, State: "running" }, []);
  return { ...started, action: plugin === undefined ? { command } : { plugin, command } };
}

function commitRoll(move: Move, { index, log, ...entered }: Rolled): NextJob {
  const { machine, made } = move;
  const last = index - 1;
  const rolled: Machine = { ...machine, ...entered };
  const job: Job = {
    ...newJob(move, rolled, machine.Tasks[last] ?? "", last),
    State: "finished",
    ExitState: "complete",
    EndTime: made.now,
  };
  const changed = { ...entered, CurrentTask: last, CurrentJob: job.Uuid };
  const committed = commit(move, 204, changed, job, log);
  return { ...committed, machine: settled(committed.machine, machine, move.world) };
}

function commit(
  { machine, currentJob, previous }: Move,
  code: 201 | 204,
  changed: Partial<Machine>,
  job: Job | undefined,
  log: readonly string[],
): Extract<NextJob, { kind: "commit" }> {
  const CurrentTask = changed.CurrentTask ?? machine.CurrentTask;
  const superseded = previous === undefined || job === undefined ? previous : { ...previous, Current: false };
  return {
    kind: "commit",
    code,
    machine: { ...machine, ...changed, WorkflowComplete: isComplete(machine.Tasks, CurrentTask) },
    ...(job === undefined ? {} : { job }),
    log,
    ...(superseded === undefined || superseded === currentJob ? {} : { superseded }),
  };
}

const blankJob = blank("jobs", {});

const newJob = ({ machine, made, previous }: Move, place: Machine, entry: string, index: number): Job => ({
  ...blankJob,
  Uuid: made.uuid,
  Previous: previous?.Uuid ?? (machine.CurrentJob || zeroUuid),
  Machine: machine.Uuid,
  Task: entry,
  Workflow: place.Workflow,
  Stage: place.Stage,
  BootEnv: place.BootEnv,
  Context: place.Context,
  StartTime: made.now,
  Current: true,
  CurrentIndex: index,
  NextIndex: index + 1,
});

/**
 * Applies a client's update of a job. Only State, ExitState and Meta can change. `machine` is the job's machine, if it
 * still exists; it is part of the result if it changes, because a failed current job makes it not Runnable.
 */
export function changeJob(
  old: Job,
  sent: Job,
  machine: Machine | undefined,
  world: World,
  now: string,
): Result<{ readonly job: Job; readonly machine?: Machine }, ModelError> {
  const asked: Job = { ...old, State: sent.State, ExitState: sent.ExitState, Meta: sent.Meta };
  const unsound = syntaxErrors("jobs", asked, world, old);
  if (unsound.length > 0) {
    return err(unsoundObject("jobs", old.Uuid, unsound));
  }
  if (jsonEquals(old, asked)) return ok({ job: old });
  const gone = asked.State === old.State ? [] : goneErrors(asked, world);
  const judged: Job =
    gone.length === 0 ? asked : { ...asked, State: "failed", ExitState: "failed", Available: false, Errors: gone };
  const job: Job = { ...judged, ...times(old, judged.State, now) };
  const isStopped = job.State === "failed" && machine?.CurrentJob === job.Uuid && machine.Runnable;
  return ok(isStopped ? { job, machine: { ...machine, Runnable: false } } : { job });
}

/** A job whose task or stage was deleted fails. */
function goneErrors(job: Job, world: World): readonly string[] {
  const isTask = readEntry(job.Task).kind === "task";
  return [
    ...(isTask && world.get("tasks", job.Task) === undefined ? [`Task ${job.Task} does not exist`] : []),
    ...(job.Stage !== "" && world.get("stages", job.Stage) === undefined ? [`Stage ${job.Stage} does not exist`] : []),
  ];
}

function times(old: Job, state: Job["State"], now: string): Partial<Job> {
  if (old.State === "created" && state === "running") return { StartTime: now };
  const isEnded = state === "finished" || state === "failed";
  return isEnded && old.EndTime === zeroTime ? { EndTime: now } : {};
}

/** Returns the refusal if a job may not be deleted: it has not ended, has a machine, and no job follows it. */
export function undeletable(job: Job, world: World): ModelError | undefined {
  const isEnded = job.State === "finished" || job.State === "failed";
  if (isEnded || world.get("machines", job.Machine) === undefined) return undefined;
  if (world.all("jobs").some((other) => other.Previous === job.Uuid)) return undefined;
  const message = `Jobs ${job.Uuid} is not in a deletable state: ${job.State}`;
  return refusal(422, "ValidationError", "jobs", job.Uuid, message);
}
