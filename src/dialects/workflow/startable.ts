import { type Instant, type JsonObject, type JsonValue, objectsAt } from "#lib/base/index.ts";
import { apiVersionOf, asJson, type Stored } from "#kernel/model/index.ts";
import type { Startable } from "#kernel/dialect/index.ts";
import { formParameters } from "./form-parameters.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";
import { scheduledRun } from "./schedule/run.ts";

// Runs that people start from stored objects, with generated names that the calendar does not use.

function templateRun({ metadata: { name = "" } }: Parameters<Startable["run"]>[0]): JsonObject {
  return {
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: { generateName: `${name}-` },
    spec: { templateRef: { name } },
  };
}

/** The run for this time. The schedule owns it and counts it in its policy and history. */
function scheduleRun(schedule: Stored<ScheduledWorkflow>, now: Instant): JsonObject {
  const { apiVersion, kind, metadata } = schedule;
  const { metadata: made, ...run } = scheduledRun(schedule, now);
  const { name: _ofCalendar, ...kept } = made;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  const whole = { ...run, metadata: { ...kept, generateName: `${metadata.name}-`, ownerReferences: [owner] } };
  return JSON.parse(JSON.stringify(whole)) as Record<string, JsonValue>;
}

export const startable: readonly Startable[] = [
  {
    group: WorkflowTemplate.group,
    kind: WorkflowTemplate.kind,
    run: templateRun,
    parameters: (object) => formParameters(objectsAt(asJson(object), "spec", "params")),
  },
  {
    group: ScheduledWorkflow.group,
    kind: ScheduledWorkflow.kind,
    aliases: ["schedule"],
    // The server has validated it.
    run: (object, now) => scheduleRun(object as unknown as Stored<ScheduledWorkflow>, now),
  },
];
