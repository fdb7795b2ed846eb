import type { Instant } from "#lib/base/index.ts";
import { type MessageInitShape, type MessageShape, RpcError, workerV1 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import { type Action, currentIndex, isSameAgent, type WorkflowState } from "../state.ts";
import { toldFailure } from "./told-failure.ts";
import { commandOf, environmentOf, timeoutOf } from "./poll-messages.ts";

const { State } = workerV1;

/** Workers need task names; in documents without tasks it is the workflow's. */
const taskNameOf = ({ task }: Action, workflow: string): string => (task.name === "" ? workflow : task.name);

/** The position in a workflow for its worker, which runs an action shown as running without reporting it. */
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
    // Empty means the first action.
    currentAction: isBegun ? action.name : "",
    currentActionIndex: BigInt(isBegun ? at : 0),
    currentActionState: State.PENDING,
    totalNumberOfActions: BigInt(state.actions.length),
  };
}

/** In the worker's own spelling: it compares ids letter by letter. */
const spelled = (agentID: string, { dispatch }: WorkflowState): string =>
  dispatch.agentID !== undefined && isSameAgent(agentID, dispatch.agentID) ? dispatch.agentID : agentID;

/** All actions of a workflow, including other workers', because the context counts them. */
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

/** Refuses a report without a name, in words that workers know. */
export function checkReport({ workflowId, taskName, actionName }: Report): void {
  if (workflowId === "") throw invalid("invalid workflow id");
  if (taskName === "") throw invalid("invalid task name");
  if (actionName === "") throw invalid("invalid action name");
}

export function reportedAction({ taskName, actionName }: Report, workflow: string, { actions }: WorkflowState): string {
  const inTask = actions.filter((action) => taskNameOf(action, workflow) === taskName);
  if (inTask.length === 0) throw invalid("reported task name does not match the current action details");
  const action = inTask.find(({ name }) => name === actionName);
  if (action === undefined) throw invalid("reported action name does not match the current action details");
  return action.id;
}

export const isEnd = ({ actionStatus }: Report): boolean =>
  actionStatus === State.SUCCESS || actionStatus === State.FAILED || actionStatus === State.TIMEOUT;

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
  // Unknown to the protocol.
  throw invalid("invalid action status");
}
