import {
  type RpcService,
  service,
  workflowV1,
  create,
  fromBinary,
  type MessageShape,
  type RawUnary,
  RpcError,
  toBinary,
} from "#kernel/rpc/index.ts";
import { type LogParts, logService } from "./log-service.ts";
import { type AskParts, getAction } from "./poll-service.ts";
import type { ReportParts } from "./record-event.ts";
import { type StreamParts, streamService } from "./stream-service.ts";
import { workerHandlers, takeWorkerReport } from "./worker-service.ts";
import { notice } from "../messages.ts";
import type { Caller } from "./caller.ts";
import { reportedEvent } from "./poll-messages.ts";
import { reportKind } from "./report-kind.ts";
import { parseWorkflowId } from "./workflow-id.ts";

// Imported dynamically by the first connection, because it loads descriptors of messages.

export interface ServiceParts extends AskParts, ReportParts, Pick<StreamParts, "connect"> {
  /** Without it agents keep their logs. */
  readonly logs: Omit<LogParts, "identify"> | undefined;
}

export const servicesOf = ({ connect, logs, ...parts }: ServiceParts): readonly RpcService[] => [
  streamService({
    identify: parts.identify,
    features: logs === undefined ? "resume" : "logs,logs-overlap,resume",
    connect,
    record: (id, event, caller) => parts.record(id, event, { caller, protocol: "stream" }),
  }),
  // Released agents and workers: two protocols with one service name and one path for reports.
  service(workflowV1.WorkflowService, {
    getAction: getAction(parts),
    reportActionStatus: reportActionStatus(parts),
    ...workerHandlers(parts),
  }),
  ...(logs === undefined ? [] : [logService({ ...logs, identify: parts.identify })]),
];

type Report = MessageShape<typeof workflowV1.ActionStatusRequestSchema>;

const received = toBinary(workflowV1.ActionStatusResponseSchema, create(workflowV1.ActionStatusResponseSchema));

/** Reports of actions by both older protocols. They share a path but not a message, so the bytes decide. */
const reportActionStatus = (parts: AskParts & ReportParts): RawUnary => ({
  async raw(bytes, call) {
    const caller = parts.identify(call);
    const kind = reportKind(bytes);
    if (kind === undefined) throw new RpcError("INVALID_ARGUMENT", "the report names neither an action nor a state");
    if (kind === "worker") await takeWorkerReport(parts, bytes, caller);
    else await takeReport(parts, decode(bytes), caller);
    return received;
  },
});

function decode(bytes: Uint8Array): Report {
  try {
    return fromBinary(workflowV1.ActionStatusRequestSchema, bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", "the request is no proto.ActionStatusRequest", { cause });
  }
}

/** A released agent exits when its last report gets one of these. */
const deadly: readonly string[] = ["NOT_FOUND", "INVALID_ARGUMENT", "FAILED_PRECONDITION"];

/** A refused end would kill the agent's process, so one that cannot be recorded is answered as if it had been. */
async function takeReport({ record, mirror, tell }: ReportParts, report: Report, caller: Caller): Promise<void> {
  const { workflowId: id = "", actionId = "" } = report;
  if (id === "") throw new RpcError("INVALID_ARGUMENT", "workflow_id is empty");
  if (actionId === "") throw new RpcError("INVALID_ARGUMENT", "action_id is empty");
  const event = reportedEvent(report);
  try {
    await record(id, event, { caller, protocol: "poll" });
  } catch (thrown) {
    if (event.is === "started" || !(thrown instanceof RpcError) || !deadly.includes(thrown.code)) throw thrown;
    const place = parseWorkflowId(id);
    const found = place === undefined ? undefined : mirror.get(place);
    if (found !== undefined && thrown.code === "NOT_FOUND")
      tell(found.workflow, [notice("LateEvent", `an agent reported the end of an unknown action: ${thrown.message}`)]);
  }
}
