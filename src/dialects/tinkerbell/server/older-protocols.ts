import { type RpcService, service, workflowV1 } from "#kernel/rpc/index.ts";
import { type AskParts, getAction } from "./poll-service.ts";
import { reportActionStatus, type ReportParts } from "./report-service.ts";

/** What released agents speak: they ask for one action after the other. */
export const olderProtocols = (parts: AskParts & ReportParts): RpcService =>
  service(workflowV1.WorkflowService, {
    getAction: getAction(parts),
    reportActionStatus: reportActionStatus(parts),
  });
