import { formatTime, type Instant, type JsonObject, parseInstant } from "#lib/base/index.ts";
import { apiVersionOf, type Stored } from "#kernel/model/index.ts";
import { workflowLabel } from "../child-names.ts";
import { Workflow } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { scheduledAt } from "../scheduled-at.ts";
import type { ScheduledWorkflow } from "./kind.ts";

/** How the runs of a schedule are found. */
const scheduleLabel = "slipway.dev/scheduled-workflow";

/**
 * The name of the run for a time of the schedule, minutes since 1970. The same for the same time in every process, after every crash
 * and by every clock, which is why no time gets two runs.
 */
export const runName = ({ metadata }: Stored<ScheduledWorkflow>, at: Instant): string =>
  `${metadata.name}-${Math.floor(at / 60_000)}`;

/** The Workflow to create for a time, but for its owner. */
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

/** The time of the schedule a Workflow was made for; undefined for one that a person made. */
export const timeOf = ({ metadata }: Workflow): Instant | undefined =>
  parseInstant(metadata.annotations?.[scheduledAt] ?? "");

/** What cancels a run that has to make way, under a name that asks for it once. */
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
