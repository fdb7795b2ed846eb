import { formatTime, type Instant, type JsonObject, parseInstant } from "#lib/base/index.ts";
import { apiVersionOf, type Stored } from "#kernel/model/index.ts";
import { workflowLabel } from "../child-names.ts";
import { Workflow } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { scheduledAt } from "../scheduled-at.ts";
import type { ScheduledWorkflow } from "./kind.ts";

const scheduleLabel = "slipway.dev/scheduled-workflow";

/** Name of the run for a time, in minutes since 1970. Deterministic, so no time gets two runs. */
export const runName = ({ metadata }: Stored<ScheduledWorkflow>, at: Instant): string =>
  `${metadata.name}-${Math.floor(at / 60_000)}`;

/** The Workflow for a time, without its owner. */
export function scheduledRun(schedule: Stored<ScheduledWorkflow>, at: Instant): Workflow {
  const { metadata: template, spec } = schedule.spec.workflowTemplate;
  return {
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: {
      name: runName(schedule, at),
      namespace: schedule.metadata.namespace ?? "",
      labels: { ...template?.labels, [scheduleLabel]: workflowLabel(schedule.metadata.name) },
      annotations: { ...template?.annotations, [scheduledAt]: formatTime(at) },
    },
    spec,
  };
}

/** The scheduled time; undefined for a run that a person started. */
export const timeOf = ({ metadata }: Workflow): Instant | undefined =>
  parseInstant(metadata.annotations?.[scheduledAt] ?? "");

/** Cancels a run, under a name that is used once. */
export function replacement({ metadata }: Stored<Workflow>): RunAction {
  const { name, namespace = "", uid } = metadata;
  const target: JsonObject = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind, name, uid };
  return {
    apiVersion: apiVersionOf(RunAction),
    kind: RunAction.kind,
    metadata: { name: `${name}-replaced`, namespace },
    spec: { target, action: "cancel", reason: "the next run of its schedule replaces it" },
  };
}
