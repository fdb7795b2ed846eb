import { type FieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import {
  codeOf,
  collectProblems,
  fieldTokens,
  hintOf,
  isWithin,
  type ProblemCollector,
} from "#kernel/dialect/index.ts";
import { Workflow } from "../kinds.ts";
import { isSmall, validateWorkflow } from "../validate.ts";
import { stepBeyondField } from "#lib/text/index.ts";
import { calendarOf, schedulesOf } from "./calendar.ts";
import { ScheduledWorkflow, type ScheduleSpec } from "./kind.ts";

const schema = compileSchema(ScheduledWorkflow.schema);

/** Names of runs and their actions add `-<minutes>` and a word; 253 characters are allowed. */
export const longestName = 230;

const place: FieldPath = ["spec", "workflowTemplate"];
const templateField = "spec.workflowTemplate.spec";

export interface CheckedTemplate {
  readonly workflow: JsonObject;
  readonly compiled: CompiledWorkflow | undefined;
  readonly found: ProblemCollector;
}

/** Validates a ScheduledWorkflow of any form. Adds to `found`; never throws. */
export function validateSchedule(document: JsonObject, found: ProblemCollector): CheckedTemplate {
  if (!isSmall(document, found.error)) return { workflow: {}, compiled: undefined, found: at(place, found) };
  const broken: string[] = [];
  for (const error of schema.validate(document)) {
    if (isWithin(error.field, templateField) && error.field !== templateField) continue;
    found.error(fieldTokens(document, error.field), codeOf(error), error.message, hintOf(error));
    broken.push(error.field);
  }
  checkName(document, found);
  const isReadable = !broken.some((field) => /^spec(?:\.(?:schedules?|timeZone)\b|$)/.test(field));
  // Validated by the schema.
  if (isReadable) checkCalendar(objectAt(document, "spec") as unknown as ScheduleSpec, found);
  return checkTemplate(document, found);
}

/** Both forms at once are ambiguous. */
function checkCalendar(spec: ScheduleSpec, found: ProblemCollector): void {
  const { schedule, schedules } = spec;
  if (schedule !== undefined && schedules !== undefined)
    return found.error(["spec"], "not-exactly-one", "exactly one of schedule and schedules, found both");
  if (schedule === undefined && schedules === undefined)
    return found.error(["spec", "schedule"], "required", "one of schedule and schedules is required");
  const calendar = calendarOf(spec);
  if (!calendar.ok) {
    for (const { path, message } of calendar.error) found.error(path, "invalid-schedule", message);
    return undefined;
  }
  for (const [index, text] of schedulesOf(spec).entries()) {
    const wrong = stepBeyondField(text);
    const path = schedule === undefined ? ["spec", "schedules", index] : ["spec", "schedule"];
    if (wrong !== undefined) found.error(path, "invalid-schedule", wrong);
  }
  // A calendar that is ever due is due within the searched years.
  if (calendar.value.next(0) === undefined)
    found.warn(["spec", schedule === undefined ? "schedules" : "schedule"], "never-due", "is never due: no such day");
}

/** Instead of failing when the first run is due. */
function checkName({ metadata }: JsonObject, found: ProblemCollector): void {
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (typeof name === "string" && name.length > longestName)
    found.error(["metadata", "name"], "invalid-name", `must be no more than ${longestName} characters`);
}

/** The template as an unnamed Workflow. Required parameters need arguments, because nobody can give them later. */
function checkTemplate(document: JsonObject, found: ProblemCollector): CheckedTemplate {
  const { metadata } = document;
  const namespace = isJsonObject(metadata) ? metadata["namespace"] : undefined;
  const { metadata: given, spec } = objectAt(objectAt(document, "spec"), "workflowTemplate");
  const workflow: JsonObject = {
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: { ...(isJsonObject(given) ? given : {}), ...(namespace === undefined ? {} : { namespace }) },
    ...(spec === undefined ? {} : { spec }),
  };
  const inPlace = at(place, found);
  if (!isJsonObject(spec)) return { workflow, compiled: undefined, found: inPlace };
  return { workflow, compiled: validateWorkflow(workflow, inPlace).compiled, found: inPlace };
}

function at(prefix: FieldPath, outer: ProblemCollector): ProblemCollector {
  const inner = collectProblems();
  return {
    problems: inner.problems,
    error(path, ...rest) {
      inner.error(path, ...rest);
      outer.error([...prefix, ...path], ...rest);
    },
    warn(path, ...rest) {
      inner.warn(path, ...rest);
      outer.warn([...prefix, ...path], ...rest);
    },
  };
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value: JsonValue | undefined = object[name];
  return isJsonObject(value) ? value : {};
}
