import type { Instant, JsonObject, JsonValue } from "#lib/base/index.ts";
import { apiVersionOf, type Stored } from "#kernel/model/index.ts";
import type { Startable } from "#kernel/dialect/index.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";
import { scheduledRun } from "./schedule/run.ts";

// Runs that a person starts from what is stored. The server completes their names, so that none takes the name that the calendar has for a
// later run.

/** A run of a template; what it runs is frozen when it starts, as for every run that refers to one. */
function templateRun({ metadata: { name = "" } }: Parameters<Startable["run"]>[0]): JsonObject {
  return {
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: { generateName: `${name}-` },
    spec: { templateRef: { name } },
  };
}

/** The run that the schedule would make at this time. It belongs to the schedule: its policy and its history count the run. */
function scheduleRun(schedule: Stored<ScheduledWorkflow>, now: Instant): JsonObject {
  const { apiVersion, kind, metadata } = schedule;
  const { metadata: made, ...run } = scheduledRun(schedule, now);
  const { name: _ofCalendar, ...kept } = made;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  const whole = { ...run, metadata: { ...kept, generateName: `${metadata.name}-`, ownerReferences: [owner] } };
  return JSON.parse(JSON.stringify(whole)) as Record<string, JsonValue>;
}

/** Kinds whose objects are no runs, and can be run. */
export const startable: readonly Startable[] = [
  { group: WorkflowTemplate.group, kind: WorkflowTemplate.kind, run: templateRun },
  {
    group: ScheduledWorkflow.group,
    kind: ScheduledWorkflow.kind,
    aliases: ["schedule"],
    // The server has stored it, so that it has passed the schema of its kind.
    run: (object, now) => scheduleRun(object as unknown as Stored<ScheduledWorkflow>, now),
  },
];
