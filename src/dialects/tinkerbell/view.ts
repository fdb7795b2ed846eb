import { parseInstant } from "#lib/base/index.ts";
import {
  type ActionName,
  type ObjectRef,
  type RunPhase,
  type RunView,
  type StepPhase,
  type StepView,
} from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { present } from "./members.ts";
import { type Action, currentIndex, isTerminal, type Phase, stepIds, type WorkflowState } from "./state.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";

// Browser-safe: the web interface uses it.

/** A workflow that no agent has started is pending. */
const phases: Readonly<Record<Phase, RunPhase>> = {
  "": "Pending",
  Preparing: "Pending",
  Pending: "Pending",
  Scheduled: "Pending",
  Running: "Running",
  Post: "Running",
  Cancelling: "Cancelling",
  Canceled: "Canceled",
  Succeeded: "Succeeded",
  Failed: "Failed",
};

/** A workflow as a run whose steps are its actions in order; none before it is prepared. */
export function viewWorkflow(workflow: AnyWorkflow): RunView {
  const { apiVersion, kind, metadata, status = {} } = workflow;
  const state = stateOf(workflow);
  const { name = "", namespace, uid } = metadata;
  const ref = { apiVersion, kind, name, ...present({ namespace, uid }) };
  const ids = stepIds(state.actions);
  const steps = state.actions.map((_action, at) => viewAction(state, at, ref, ids));
  return {
    ref,
    dialect: "tinkerbell",
    name: name === "" ? (metadata.generateName ?? "") : name,
    phase: phases[state.phase],
    nativePhase: typeof status["state"] === "string" ? status["state"] : "",
    number: 1,
    createdAt: parseInstant(metadata.creationTimestamp ?? "") ?? 0,
    ...present({
      startedAt: state.startedAt,
      finishedAt: isTerminal(state.phase) ? lastInstant(state) : undefined,
      deadlineAt: state.deadlines.workflow,
      reason: state.reason ?? renderProblem(workflow)?.reason,
      message: state.message ?? renderProblem(workflow)?.message,
    }),
    progress: { done: currentIndex(state), total: steps.length },
    steps,
    children: [],
    actions: actionsOf(workflow, state),
  };
}

/** End of its last action; undefined if none ended. */
const lastInstant = ({ actions }: WorkflowState): number | undefined => {
  const ends = actions.flatMap(({ finishedAt }) => finishedAt ?? []);
  return ends.length === 0 ? undefined : Math.max(...ends);
};

export function renderProblem({
  status,
}: AnyWorkflow): { readonly reason?: string; readonly message?: string } | undefined {
  const conditions: unknown = status?.["conditions"];
  if (!Array.isArray(conditions)) return undefined;
  return conditions.find(
    ({ type, status: is }: { readonly type?: unknown; readonly status?: unknown }) =>
      ((type === "TemplateRenderedSuccess" || type === "Prepared") && is === "False") ||
      (type === "Unsupported" && is === "True"),
  ) as { readonly reason?: string; readonly message?: string } | undefined;
}

function actionsOf({ metadata }: KubeObject, { phase }: WorkflowState): readonly ActionName[] {
  if (metadata.deletionTimestamp !== undefined || phase === "Post" || phase === "Cancelling") return [];
  return isTerminal(phase) ? ["retry"] : ["cancel"];
}

/** An action has no child object: it runs on the agent, which sends its log. */
function viewAction(state: WorkflowState, at: number, run: ObjectRef, ids: ReadonlyMap<string, string>): StepView {
  const stepOf = ({ id }: Action): string => ids.get(id) ?? id;
  const action = state.actions[at];
  const before = state.actions[at - 1];
  if (action === undefined) throw new Error(`the workflow has no action ${at}`);
  return {
    id: stepOf(action),
    name: action.name,
    ...(action.task.name === "" ? {} : { group: action.task.name }),
    phase: phaseOf(state, action, at),
    nativePhase: action.phase,
    dependencies: before === undefined ? [] : [stepOf(before)],
    waitingFor: before === undefined || action.phase !== "Pending" || isDone(before) ? [] : [stepOf(before)],
    rank: at,
    attempt: action.attempts,
    ...present({ startedAt: action.startedAt, finishedAt: action.finishedAt }),
    ...whyOf(state, action, at),
    // One log for all attempts.
    logs:
      action.attempts === 0
        ? []
        : [{ name: action.name, object: run, container: action.id, isOwn: true, attempt: action.attempts }],
    artifacts: [],
    actions: [],
  };
}

/** Why it ended, or which agent is to start it. */
function whyOf(state: WorkflowState, action: Action, at: number): Pick<StepView, "reason" | "message" | "notBefore"> {
  const { reason, message } = action;
  if (reason !== undefined || phaseOf(state, action, at) !== "Waiting") return present({ reason, message });
  const { notBefore, lastRejection } = state.dispatch;
  const who = `agent ${action.task.agentID}`;
  const untaken =
    lastRejection === undefined ? `${who} has not taken the workflow` : `${who} rejected it: ${lastRejection.message}`;
  const waits = state.dispatch.held ? `${who} has not started it` : untaken;
  return present({ reason: "Agent", message: waits, notBefore });
}

const isDone = ({ phase }: Action): boolean => phase === "Succeeded" || phase === "Failed";

/** Actions that will not run are skipped; the next action of a waiting workflow waits, too. */
function phaseOf(state: WorkflowState, action: Action, at: number): StepPhase {
  if (action.phase === "Running") return state.phase === "Cancelling" ? "Cancelling" : "Running";
  if (action.phase === "Failed") return action.reason === "Canceled" ? "Canceled" : "Failed";
  if (action.phase === "Succeeded") return "Succeeded";
  if (isTerminal(state.phase)) return state.phase === "Canceled" ? "Canceled" : "Skipped";
  return at === currentIndex(state) && state.phase !== "" ? "Waiting" : "Pending";
}
