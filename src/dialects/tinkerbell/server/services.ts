import { type RpcService, service, workflowV1 } from "#kernel/rpc/index.ts";
import { type LogParts, logService } from "./log-service.ts";
import { type AskParts, getAction } from "./poll-service.ts";
import type { ReportParts } from "./record-event.ts";
import { reportActionStatus } from "./report-service.ts";
import { type StreamParts, streamService } from "./stream-service.ts";
import { workerHandlers } from "./worker-service.ts";

// Nothing but the first connection needs the services and the descriptors of their messages, so that this file is imported by import() only.

/** What all services of a server work with. */
export interface ServiceParts extends AskParts, ReportParts, Pick<StreamParts, "connect"> {
  /** Logs of actions stay with their agents without. */
  readonly logs: Omit<LogParts, "identify"> | undefined;
}

/** Everything that agents may speak, old and new. */
export const servicesOf = ({ connect, logs, ...parts }: ServiceParts): readonly RpcService[] => [
  streamService({
    identify: parts.identify,
    features: logs === undefined ? "resume" : "logs,logs-overlap,resume",
    connect,
    record: (id, event, caller) => parts.record(id, event, { caller, protocol: "stream" }),
  }),
  // Released agents and workers: two protocols under one name, which share the path of their reports.
  service(workflowV1.WorkflowService, {
    getAction: getAction(parts),
    reportActionStatus: reportActionStatus(parts),
    ...workerHandlers(parts),
  }),
  ...(logs === undefined ? [] : [logService({ ...logs, identify: parts.identify })]),
];
