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

// Workers of before 2024: they ask for workflows, for the actions of each, and report by names. A worker asks again three seconds after an answer
// ended, so that nothing is held; and it is given one workflow at a time, because that is what may be begun.

type WorkerHandlers = Required<
  Pick<Handlers<typeof workflowV1.WorkflowService>, "getWorkflowContexts" | "getWorkflowActions">
>;

/** How often a change by somebody else is waited for before the worker is let go until its next question. */
const looks = 5;
const between: Millis = 20;

/** What workers ask. */
export const workerHandlers = (parts: AskParts): WorkerHandlers => ({
  async getWorkflowContexts({ workerId }, replies, call) {
    const taker: Taker = { agentID: checkedAgentID(workerId, "invalid worker id"), protocol: "worker" };
    const caller = parts.identify(call);
    allow(caller, taker.agentID);
    parts.seen(taker.agentID, "worker", caller);
    const taken = await takeOne(parts, taker, call.signal);
    if (taken?.is !== "at") return;
    const { namespace = "", name } = taken.workflow.metadata;
    // Mounted into actions as a folder of this name, which can hold no third part.
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

/** Answers that do not change: a worker tells its report again every three seconds until it is answered OK, and does nothing else. */
const final: readonly string[] = ["NOT_FOUND", "FAILED_PRECONDITION"];

/**
 * What a worker reports of an action; resolves when it is durable. A start that is refused keeps the action from being run, at the price of the
 * worker, which waits until somebody starts it anew. An end that comes too late is nobody's any more: refusing it would cost the worker for nothing.
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
  // The uid, so that names that were read of one workflow are not recorded for another.
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

/** Who has no part in a workflow does not learn what is in it. */
function checkConcerned(caller: Caller, state: WorkflowState): void {
  const agents = [...agentsOf(state), ...state.actions.map(({ task }) => task.agentID)];
  if (!agents.some((agent) => caller.isAgent(agent)))
    throw new RpcError("PERMISSION_DENIED", `the workflow is not ${caller.name}'s`);
}
