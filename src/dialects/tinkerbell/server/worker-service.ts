import { type Clock, type Millis, sleep, type Instant } from "#lib/base/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import {
  fromBinary,
  type Handlers,
  RpcError,
  workerV1,
  type workflowV1,
  type MessageInitShape,
  type MessageShape,
} from "#kernel/rpc/index.ts";
import { agentKey, agentsOf, type WorkflowState, type Action, currentIndex, isSameAgent } from "../state.ts";
import { type AnyWorkflow, refOf, stateOf } from "../stored.ts";
import type { Taker } from "../transitions.ts";
import { allow, type Caller, checkedAgentID } from "./caller.ts";
import { type AskParts, takeUnlessGone } from "./poll-service.ts";
import { asUnavailable, type ReportParts } from "./record-event.ts";
import type { Taken } from "./taking.ts";
import { parseWorkflowId } from "./workflow-id.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import { toldFailure } from "./told-failure.ts";
import { commandOf, environmentOf, timeoutOf } from "./poll-messages.ts";

// Workers from before 2024 ask for workflows and their actions, and report by names. They ask again three seconds after
// an answer, so calls are not held; each gets one workflow at a time.

type WorkerHandlers = Required<
  Pick<Handlers<typeof workflowV1.WorkflowService>, "getWorkflowContexts" | "getWorkflowActions">
>;

/** How often a conflict is retried before the worker must ask again. */
const looks = 5;
const between: Millis = 20;

export const workerHandlers = (parts: AskParts): WorkerHandlers => ({
  async getWorkflowContexts({ workerId }, replies, call) {
    const taker: Taker = { agentID: checkedAgentID(workerId, "invalid worker id"), protocol: "worker" };
    const caller = parts.identify(call);
    allow(caller, taker.agentID);
    parts.seen(taker.agentID, "worker", caller);
    const taken = await takeOne(parts, taker, call.signal);
    if (taken?.is !== "at") return;
    const { namespace = "", name } = taken.workflow.metadata;
    // Workers mount it as a directory, so it has two parts.
    replies.send(contextMessage(`${namespace}/${name}`, name, taken.state, taker.agentID));
  },
  async getWorkflowActions({ workflowId }, call) {
    const caller = parts.identify(call);
    const { workflow, state } = await read(parts, workflowId);
    checkConcerned(caller, state);
    return actionList(workflow.metadata.name, state, parts.clock.now());
  },
});

async function takeOne(parts: AskParts, taker: Taker, signal: AbortSignal): Promise<Taken | undefined> {
  for (let look = 0; look < looks; look += 1) {
    const taken = await parts.lanes.run(agentKey(taker.agentID), () => takeUnlessGone(parts, taker, signal));
    if (taken.is !== "again") return taken;
    await sleep(parts.clock, between, signal);
  }
  return undefined;
}

/** Final answers: a worker repeats its report until it gets OK. */
const final: readonly string[] = ["NOT_FOUND", "FAILED_PRECONDITION"];

/**
 * Records a worker's report; resolves when it is durable. A refused start prevents the action and blocks the worker
 * until it is restarted. A late end is answered with OK, because refusing it would only block the worker.
 */
export async function takeWorkerReport(
  parts: AskParts & ReportParts,
  bytes: Uint8Array,
  caller: Caller,
): Promise<void> {
  const report = decode(bytes);
  checkReport(report);
  try {
    await takeChecked(parts, report, caller);
  } catch (thrown) {
    if (!isEnd(report) || !(thrown instanceof RpcError) || !final.includes(thrown.code)) throw thrown;
  }
}

async function takeChecked(
  parts: AskParts & ReportParts,
  report: ReturnType<typeof decode>,
  caller: Caller,
): Promise<void> {
  const { workflow, state } = await read(parts, report.workflowId);
  checkConcerned(caller, state);
  const action = reportedAction(report, workflow.metadata.name, state);
  const { namespace = "", name, uid } = workflow.metadata;
  // With the uid, so that a recreated workflow does not get the report.
  await parts.record(`${namespace}/${name}/${uid}`, workerEvent(report, action), { caller, protocol: "worker" });
}

function decode(bytes: Uint8Array) {
  try {
    return fromBinary(workerV1.WorkflowActionStatusSchema, bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", "the request is no proto.WorkflowActionStatus", { cause });
  }
}

async function read(
  { client }: { readonly client: AskParts["client"]; readonly clock: Clock },
  id: string,
): Promise<{ readonly workflow: Stored<AnyWorkflow>; readonly state: WorkflowState }> {
  const place = parseWorkflowId(id);
  if (place === undefined) throw new RpcError("INVALID_ARGUMENT", "invalid workflow id");
  try {
    const workflow = await client.get<AnyWorkflow>(refOf(place.namespace, place.name));
    return { workflow, state: stateOf(workflow) };
  } catch (thrown) {
    throw isNotFound(thrown) ? new RpcError("NOT_FOUND", `there is no workflow "${id}"`) : asUnavailable(thrown);
  }
}

/** Other agents must not learn what a workflow holds. */
function checkConcerned(caller: Caller, state: WorkflowState): void {
  const agents = [...agentsOf(state), ...state.actions.map(({ task }) => task.agentID)];
  if (!agents.some((agent) => caller.isAgent(agent)))
    throw new RpcError("PERMISSION_DENIED", `the workflow is not ${caller.name}'s`);
}

const { State } = workerV1;

/** Workers need task names; in documents without tasks it is the workflow's. */
const taskNameOf = ({ task }: Action, workflow: string): string => (task.name === "" ? workflow : task.name);

/** The position in a workflow for its worker, which runs an action shown as running without reporting it. */
function contextMessage(
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
const actionList = (
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
function checkReport({ workflowId, taskName, actionName }: Report): void {
  if (workflowId === "") throw invalid("invalid workflow id");
  if (taskName === "") throw invalid("invalid task name");
  if (actionName === "") throw invalid("invalid action name");
}

function reportedAction({ taskName, actionName }: Report, workflow: string, { actions }: WorkflowState): string {
  const inTask = actions.filter((action) => taskNameOf(action, workflow) === taskName);
  if (inTask.length === 0) throw invalid("reported task name does not match the current action details");
  const action = inTask.find(({ name }) => name === actionName);
  if (action === undefined) throw invalid("reported action name does not match the current action details");
  return action.id;
}

const isEnd = ({ actionStatus }: Report): boolean =>
  actionStatus === State.SUCCESS || actionStatus === State.FAILED || actionStatus === State.TIMEOUT;

function workerEvent({ actionStatus, message }: Report, action: string): AgentEvent {
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
