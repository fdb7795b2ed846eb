import type { Instant } from "#lib/base/index.ts";
import { type MessageInitShape, type MessageShape, RpcError, workerV1 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import { type Action, currentIndex, isSameAgent, type WorkflowState } from "../state.ts";
import { toldFailure } from "./told-failure.ts";
import { commandOf, environmentOf, timeoutOf } from "./poll-messages.ts";

const { State } = workerV1;

/** Workers insist on tasks with names; where a document has no tasks, they get the name of the workflow. */
const taskNameOf = ({ task }: Action, workflow: string): string => (task.name === "" ? workflow : task.name);

/**
 * Where a workflow is, for the worker whose turn it is. What it is at counts as pending even if it was begun: a worker that is told of a running action
 * runs it without saying so.
 */
export function contextMessage(
  id: string,
  workflow: string,
  state: WorkflowState,
  worker: string,
): MessageInitShape<typeof workerV1.WorkflowContextSchema> {
  const at = currentIndex(state);
  const action = state.actions[at];
  const isBegun = state.startedAt !== undefined && action !== undefined;
  return {
    workflowId: id,
    currentWorker: worker,
    currentTask: action === undefined ? "" : taskNameOf(action, workflow),
    // Empty means the first of all.
    currentAction: isBegun ? action.name : "",
    currentActionIndex: BigInt(isBegun ? at : 0),
    currentActionState: State.PENDING,
    totalNumberOfActions: BigInt(state.actions.length),
  };
}

/** The id of an agent as the one who was told spells his own: a worker takes an action for its own only where the ids are the same letter by letter. */
const spelled = (agentID: string, { dispatch }: WorkflowState): string =>
  dispatch.agentID !== undefined && isSameAgent(agentID, dispatch.agentID) ? dispatch.agentID : agentID;

/** All actions of a workflow, those of other workers as well: the context counts through them. */
export const actionList = (
  workflow: string,
  state: WorkflowState,
  now: Instant,
): MessageInitShape<typeof workerV1.WorkflowActionListSchema> => ({
  actionList: state.actions.map((action) => ({
    taskName: taskNameOf(action, workflow),
    name: action.name,
    image: action.image,
    timeout: timeoutOf(action, state, now),
    command: commandOf(action),
    workerId: spelled(action.task.agentID, state),
    volumes: [...action.volumes],
    environment: environmentOf(action),
    ...present({ pid: action.pid }),
  })),
});

type Report = MessageShape<typeof workerV1.WorkflowActionStatusSchema>;

const invalid = (message: string): RpcError => new RpcError("INVALID_ARGUMENT", message);

/** Refuses a report that lacks a name, in the words that workers know. */
export function checkReport({ workflowId, taskName, actionName }: Report): void {
  if (workflowId === "") throw invalid("invalid workflow id");
  if (taskName === "") throw invalid("invalid task name");
  if (actionName === "") throw invalid("invalid action name");
}

/** The id of the action that a report names; workers know names only. */
export function reportedAction({ taskName, actionName }: Report, workflow: string, { actions }: WorkflowState): string {
  const inTask = actions.filter((action) => taskNameOf(action, workflow) === taskName);
  if (inTask.length === 0) throw invalid("reported task name does not match the current action details");
  const action = inTask.find(({ name }) => name === actionName);
  if (action === undefined) throw invalid("reported action name does not match the current action details");
  return action.id;
}

/** Whether its action has ended. */
export const isEnd = ({ actionStatus }: Report): boolean =>
  actionStatus === State.SUCCESS || actionStatus === State.FAILED || actionStatus === State.TIMEOUT;

/** What a report comes to. */
export function workerEvent({ actionStatus, message }: Report, action: string): AgentEvent {
  const failed = (reason: string, otherwise: string): AgentEvent => ({
    is: "failed",
    action,
    ...toldFailure("", message, { reason, message: otherwise }),
  });
  switch (actionStatus) {
    case State.RUNNING:
      return { is: "started", action };
    case State.SUCCESS:
      return { is: "succeeded", action };
    case State.FAILED:
      return failed("RuntimeError", "the worker reported FAILED without details");
    case State.TIMEOUT:
      return failed("ActionTimeout", "the worker reported TIMEOUT");
    case State.PENDING:
      throw invalid("invalid action status");
  }
  // A number that is none of them.
  throw invalid("invalid action status");
}
