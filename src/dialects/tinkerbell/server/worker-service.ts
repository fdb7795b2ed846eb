import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import { fromBinary, type Handlers, RpcError, workerV1, type workflowV1 } from "#kernel/rpc/index.ts";
import { agentKey, agentsOf, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, refOf, stateOf } from "../stored.ts";
import type { Taker } from "../transitions.ts";
import { allow, type Caller, checkedAgentID } from "./caller.ts";
import { type AskParts, takeUnlessGone } from "./poll-service.ts";
import { asUnavailable } from "./record-event.ts";
import type { ReportParts } from "./record-event.ts";
import type { Taken } from "./taking.ts";
import { actionList, checkReport, contextMessage, isEnd, reportedAction, workerEvent } from "./worker-messages.ts";
import { parseWorkflowId } from "./workflow-id.ts";

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
