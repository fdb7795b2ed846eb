import { type Instant, isJsonObject, jsonEquals, type Millis } from "#lib/base/index.ts";
import { instantOf, present, timeOf, withoutGone } from "../members.ts";
import { decodeAdditions, encodeAdditions } from "./additions.ts";
import { type Condition, putCondition, succeededCondition } from "./conditions.ts";
import type { WorkflowStatusV1 } from "../kinds.ts";
import { formatElapsed } from "../messages.ts";
import { type Action, currentIndex, type Phase, type Task, type WorkflowState } from "../state.ts";

type TaskStatus = NonNullable<WorkflowStatusV1["tasks"]>[number];
type ActionStatus = NonNullable<TaskStatus["actions"]>[number];

/** States of released documents. `Scheduled` is a condition there, and a timeout has its own state. */
const words: Readonly<Record<Phase, string>> = {
  "": "",
  Preparing: "PREPARING",
  Pending: "PENDING",
  Scheduled: "PENDING",
  Running: "RUNNING",
  Post: "POST",
  Cancelling: "CANCELLING",
  Canceled: "CANCELED",
  Succeeded: "SUCCESS",
  Failed: "FAILED",
};
const phases: Readonly<Record<string, Phase>> = {
  PREPARING: "Preparing",
  PENDING: "Pending",
  RUNNING: "Running",
  POST: "Post",
  CANCELLING: "Cancelling",
  CANCELED: "Canceled",
  SUCCESS: "Succeeded",
  FAILED: "Failed",
  TIMEOUT: "Failed",
  // Written by people, in the word of v1alpha2.
  Cancelling: "Cancelling",
};

/** Reasons that are states in released documents. */
const timeouts: readonly (string | undefined)[] = ["ActionTimeout", "WorkflowTimeout"];

/** Releases before 2025 wrote `STATE_X`; their pending workflows count as not prepared. */
function phaseOf({ state = "", conditions = [] }: WorkflowStatusV1): Phase {
  if (state === "STATE_PENDING") return "";
  const phase = phases[state.replace(/^STATE_/, "")] ?? "";
  const isScheduled = conditions.some(({ type, status }) => type === "Scheduled" && status === "True");
  return phase === "Pending" && isScheduled ? "Scheduled" : phase;
}

export function decodeV1(status: WorkflowStatusV1 = {}): WorkflowState {
  const phase = phaseOf(status);
  const { tasks = [], agentID = "", globalTimeout = 0, startedAt } = status;
  return {
    shape: "A",
    phase,
    agentID,
    actions: tasks.flatMap((task) => (task.actions ?? []).map((action) => decodeAction(action, taskOf(task)))),
    timeout: globalTimeout * 1000,
    ...present({ startedAt: instantOf(startedAt) }),
    ...decodeAdditions(status),
  };
}

const taskOf = ({ id = "", name = "", agentID = "" }: TaskStatus): Task => ({ id, name, agentID });
/** Releases store no reason: it is derived from the state. Of the two fields for namespaces the newer one wins. */
function decodeAction(action: ActionStatus, task: Task): Action {
  const { id = "", name = "", image = "", command = [], environment = {}, volumes = [], timeout = 0 } = action;
  const { state = "PENDING", attempts = 0, failureReason, message, executionStart, executionStop } = action;
  const isFailed = state === "FAILED" || state === "TIMEOUT";
  return {
    id,
    name,
    image,
    args: command,
    env: environment,
    volumes,
    timeout: timeout * 1000,
    task,
    phase: isFailed ? "Failed" : state === "SUCCESS" ? "Succeeded" : state === "RUNNING" ? "Running" : "Pending",
    attempts,
    ...present({
      pid: textOf(action.namespaces?.pid) ?? textOf(action.pid),
      network: textOf(action.namespaces?.network),
      startedAt: instantOf(executionStart),
      finishedAt: instantOf(executionStop),
      reason: isFailed ? (failureReason ?? (state === "TIMEOUT" ? "ActionTimeout" : "RuntimeError")) : undefined,
      message: isFailed ? message : undefined,
    }),
  };
}

/** Released documents have empty texts for absent ones. */
const textOf = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

/** The status for this state, keeping all other fields of the earlier one. `now` is for changed conditions. */
export function encodeV1(state: WorkflowState, previous: WorkflowStatusV1 = {}, now: Instant): WorkflowStatusV1 {
  const current = state.actions[Math.min(currentIndex(state), state.actions.length - 1)];
  return withoutGone({
    ...previous,
    ...encodeAdditions(state),
    state: state.phase === "Failed" && timeouts.includes(state.reason) ? "TIMEOUT" : words[state.phase],
    agentID: state.agentID,
    startedAt: timeOf(state.startedAt),
    globalTimeout: state.timeout === 0 ? previous.globalTimeout : seconds(state.timeout),
    globalExecutionStop: timeOf(state.deadlines.workflow) ?? previous.globalExecutionStop,
    currentState: current === undefined ? previous.currentState : currentOf(current, previous.currentState),
    tasks: encodeTasks(state.actions, previous.tasks),
    conditions: conditionsOf(state, previous, now),
  });
}

const seconds = (millis: Millis): number => Math.round(millis / 1000);

function currentOf(action: Action, before: WorkflowStatusV1["currentState"]): WorkflowStatusV1["currentState"] {
  const { id: actionID, name: actionName, task } = action;
  const { agentID, id: taskID, name: taskName } = task;
  const told = { agentID, taskID, actionID, state: wordOf(action), actionName, taskName };
  return jsonEquals(told, before) ? before : told;
}

const wordOf = ({ phase, reason }: Action): NonNullable<ActionStatus["state"]> => {
  if (phase === "Failed") return timeouts.includes(reason) ? "TIMEOUT" : "FAILED";
  return phase === "Succeeded" ? "SUCCESS" : phase === "Running" ? "RUNNING" : "PENDING";
};

function encodeTasks(
  actions: readonly Action[],
  previous: readonly TaskStatus[] | undefined,
): readonly TaskStatus[] | undefined {
  if (actions.length === 0) return previous;
  const tasks = new Map<string, { readonly task: Task; readonly actions: Action[] }>();
  for (const action of actions) {
    const known = tasks.get(action.task.id);
    if (known === undefined) tasks.set(action.task.id, { task: action.task, actions: [action] });
    else known.actions.push(action);
  }
  const told = [...tasks.values()].map(({ task, actions: own }): TaskStatus => {
    const before = previous?.find(({ id }) => id === task.id);
    const encoded = own.map((action) => encodeAction(action, before));
    const isTold = before?.name === task.name && before.agentID === task.agentID && isSameList(encoded, before.actions);
    return isTold ? before : { ...before, ...task, actions: encoded };
  });
  return isSameList(told, previous) ? previous : told;
}

// Unchanged parts stay the same objects, so that the store sees what changed.

const isSameList = <T>(list: readonly T[], before: readonly T[] | undefined): before is readonly T[] =>
  before?.length === list.length && list.every((item, at) => item === before[at]);

/** Whether a status says everything about an action, if in other words. */
function isToldBy(told: ActionStatus, action: Action): boolean {
  const { name, image, args, env, volumes, timeout, attempts, startedAt, finishedAt, pid, network } = action;
  const isOver = startedAt !== undefined && finishedAt !== undefined;
  return (
    told.state === wordOf(action) &&
    told.name === name &&
    told.image === image &&
    told.timeout === seconds(timeout) &&
    (told.attempts ?? 0) === attempts &&
    told.message === action.message &&
    told.failureReason === action.reason &&
    instantOf(told.executionStart) === startedAt &&
    instantOf(told.executionStop) === finishedAt &&
    isOver === (told.executionDuration !== undefined) &&
    (told.command === undefined ? args.length === 0 : told.command === args) &&
    (told.volumes === undefined ? volumes.length === 0 : told.volumes === volumes) &&
    (told.environment === undefined ? Object.keys(env).length === 0 : told.environment === env) &&
    told.pid === pid &&
    told.namespaces?.pid === pid &&
    told.namespaces?.network === network
  );
}

/** Durations are for people; rules use the instants. */
function encodeAction(action: Action, before: TaskStatus | undefined): ActionStatus {
  const { id, name, image, args, env, volumes, timeout, attempts, startedAt, finishedAt, reason, message } = action;
  const { pid, network } = action;
  const known = before?.actions?.find((one) => one.id === id);
  if (known !== undefined && isToldBy(known, action)) return known;
  const elapsed =
    startedAt === undefined || finishedAt === undefined ? undefined : formatElapsed(finishedAt - startedAt);
  return withoutGone({
    ...known,
    id,
    name,
    image,
    timeout: seconds(timeout),
    command: args.length === 0 ? undefined : args,
    volumes: volumes.length === 0 ? undefined : volumes,
    environment: Object.keys(env).length === 0 ? undefined : env,
    pid,
    namespaces: pid === undefined && network === undefined ? undefined : present({ pid, network }),
    state: wordOf(action),
    executionStart: timeOf(startedAt),
    executionStop: timeOf(finishedAt),
    executionDuration: elapsed,
    message,
    failureReason: reason,
    attempts: attempts === 0 ? undefined : attempts,
  });
}

/** `Scheduled` appears with the first dispatch; `kubectl wait` uses `Succeeded`. */
function conditionsOf(state: WorkflowState, previous: WorkflowStatusV1, now: Instant): WorkflowStatusV1["conditions"] {
  const told: readonly unknown[] = previous.conditions ?? [];
  const before = told.every(isCondition) ? told : told.filter(isCondition);
  const isScheduled = state.phase === "Scheduled" ? "True" : "False";
  const put = putCondition("time", now);
  const scheduled =
    isScheduled === "False" && !before.some(({ type }) => type === "Scheduled")
      ? before
      : put(before, { type: "Scheduled", status: isScheduled });
  return state.phase === "" ? previous.conditions : put(scheduled, succeededCondition(state));
}

const isCondition = (value: unknown): value is Condition => isJsonObject(value) && typeof value["type"] === "string";
