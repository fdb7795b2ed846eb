import {
  type Instant,
  isTrueAt,
  type JsonObject,
  type JsonValue,
  listAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { apiVersionOf, asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { Startable, StartParameter } from "#kernel/dialect/index.ts";
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

/** Types that a form knows; values of others are texts as on the command line. */
const formTypes: Readonly<Record<string, StartParameter["type"]>> = {
  integer: "number",
  number: "number",
  boolean: "boolean",
};

const asText = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));

const parametersOf = (object: KubeObject): readonly StartParameter[] =>
  objectsAt(asJson(object), "spec", "params").map((param) => {
    const [description, initial] = [textAt(param, "description"), valueAt(param, "default")];
    const options = listAt(param, "enum").map(asText);
    return {
      name: textAt(param, "name") ?? "",
      type: formTypes[textAt(param, "type") ?? ""] ?? "string",
      ...(description === undefined ? {} : { description }),
      ...(initial === undefined ? {} : { default: asText(initial) }),
      ...(options.length === 0 ? {} : { options }),
      isRequired: isTrueAt(param, "required"),
    };
  });

export const startable: readonly Startable[] = [
  { group: WorkflowTemplate.group, kind: WorkflowTemplate.kind, run: templateRun, parameters: parametersOf },
  {
    group: ScheduledWorkflow.group,
    kind: ScheduledWorkflow.kind,
    aliases: ["schedule"],
    // The server has validated it.
    run: (object, now) => scheduleRun(object as unknown as Stored<ScheduledWorkflow>, now),
  },
];
