import { type RpcService, service, workflowV1 } from "#kernel/rpc/index.ts";
import { type LogParts, logService } from "./log-service.ts";
import { type AskParts, getAction } from "./poll-service.ts";
import type { ReportParts } from "./record-event.ts";
import { reportActionStatus } from "./report-service.ts";
import { type StreamParts, streamService } from "./stream-service.ts";
import { workerHandlers } from "./worker-service.ts";

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
