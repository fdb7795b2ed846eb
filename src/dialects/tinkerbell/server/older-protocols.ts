import { type RpcService, service, workflowV1 } from "#kernel/rpc/index.ts";
import { type AskParts, getAction } from "./poll-service.ts";
import { reportActionStatus, type ReportParts } from "./report-service.ts";
import { workerHandlers } from "./worker-service.ts";

/** What released agents and workers speak: two protocols under one name, which share the path of their reports. */
export const olderProtocols = (parts: AskParts & ReportParts): RpcService =>
  service(workflowV1.WorkflowService, {
    getAction: getAction(parts),
    reportActionStatus: reportActionStatus(parts),
    ...workerHandlers(parts),
  });
