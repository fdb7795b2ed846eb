import {
  type FieldPath,
  formatFieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Problem,
} from "#lib/base/index.ts";
import { compileSchema, type FieldError } from "#lib/schema/index.ts";
import { compileWorkflow } from "./compile/compile.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { Workflow, type WorkflowSpec } from "./kinds.ts";
import { collectProblems, type ProblemCollector, type Report } from "./problems.ts";

/** A document that was checked. `compiled` exists exactly when there is no error. */
export interface Validated {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

const schema = compileSchema(Workflow.schema);

/**
 * Checks a Workflow document, whatever it holds: shapes of earlier drafts, schema, and meaning, all problems at once. What
 * the schema refuses is left out before the meaning is checked, so that one mistake is reported once.
 */
export function validateWorkflow(document: JsonObject, found: ProblemCollector = collectProblems()): Validated {
  const broken = checkRaw(document, found.error);
  for (const error of schema.validate(document)) {
    if (broken.some((path) => isWithin(error.field, path))) continue;
    found.error(fieldTokens(document, error.field), codeOf(error), error.message);
    broken.push(error.reason === "FieldValueRequired" ? parentOf(error.field) : error.field);
  }
  const compiled = compileWorkflow(asWorkflow(repaired(document, broken)), quietAbout(broken, found));
  return { compiled: broken.length === 0 ? compiled : undefined, problems: found.problems };
}

/** The schema has passed what is left of the document: from here on it is typed. */
const asWorkflow = (document: JsonObject): Workflow => document as unknown as Workflow;

const positiveInSpec = [
  "activeDeadlineSeconds",
  "finallyDeadlineSeconds",
  "parallelism",
] as const satisfies readonly (keyof WorkflowSpec)[];
const positiveInStep = ["timeoutSeconds", "deadlineSeconds"];

/** What deserves a better message than the schema's. Returns the fields that are settled by it. */
function checkRaw(document: JsonObject, report: Report): string[] {
  const broken: string[] = [];
  const refuse = (path: FieldPath, code: string, message: string, field = path): void => {
    report(path, code, message);
    broken.push(formatFieldPath(field));
  };
  const spec = objectAt(document, "spec");
  checkPositive(spec, positiveInSpec, ["spec"], refuse);
  checkPositive(objectAt(spec, "stepDefaults"), positiveInStep, ["spec", "stepDefaults"], refuse);
  for (const part of ["steps", "finally"]) {
    for (const [key, step] of Object.entries(objectAt(spec, part))) {
      if (!isJsonObject(step)) continue;
      const path = ["spec", part, key];
      checkPositive(step, positiveInStep, path, refuse);
      checkPositive(objectAt(step, "wait"), ["seconds"], [...path, "wait"], refuse);
      checkDrafts(step, path, refuse);
    }
  }
  return broken;
}

type Refuse = (path: FieldPath, code: string, message: string, field?: FieldPath) => void;

/** JSON has one kind of number; the messages of a schema would speak of types and minimums separately. */
function checkPositive(object: JsonObject, fields: readonly string[], path: FieldPath, refuse: Refuse): void {
  for (const field of fields) {
    const value = object[field];
    if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value > 0)) continue;
    refuse([...path, field], "not-positive", `must be a positive integer, found ${JSON.stringify(value)}`);
  }
}

/** The proposal had two earlier shapes that are still found in the wild. */
function checkDrafts(step: JsonObject, path: FieldPath, refuse: Refuse): void {
  const { dependencies, jobTemplate } = step;
  if (isJsonObject(dependencies)) {
    const message =
      "must be a list of step keys, such as [one, two]; an object with dependencyIDs is the shape of an early draft";
    refuse([...path, "dependencies"], "draft-shape", message);
  }
  if (!isJsonObject(jobTemplate) || jobTemplate["template"] === undefined || jobTemplate["spec"] !== undefined) return;
  const message =
    "must stand inside spec: jobTemplate holds metadata and spec; a bare JobSpec is the shape of an early draft";
  refuse([...path, "jobTemplate", "template"], "draft-shape", message, [...path, "jobTemplate"]);
}

/** What is no object is reported by the schema; here it holds nothing. */
function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

const codes: Partial<Record<FieldError["reason"], string>> = {
  FieldValueRequired: "required",
  FieldValueTypeInvalid: "wrong-type",
  FieldValueNotSupported: "unsupported-value",
};
const codeOf = (error: FieldError): string => codes[error.reason] ?? "invalid-value";

/** Whether a field is the parent or stands in it; both in Kubernetes notation. */
const isWithin = (field: string, parent: string): boolean =>
  field === parent || field.startsWith(`${parent}.`) || field.startsWith(`${parent}[`);

/** The field without its last member or index. */
const parentOf = (field: string): string => field.replace(/(?:\.[^.[\]]+|\[[^\]]*\])$/, "");

/** The document without the broken fields. A list with a broken item goes whole: the places of the others must not move. */
function repaired(document: JsonObject, broken: readonly string[]): JsonObject {
  if (broken.length === 0) return document;
  const clean = without(document, [], broken);
  const spec = objectAt(clean, "spec");
  if (spec["params"] !== undefined || objectAt(document, "spec")["params"] === undefined) return { ...clean, spec };
  // Expressions may still name the parameters; what their values must be cannot be told.
  const { arguments: _unknown, ...rest } = spec;
  return { ...clean, spec: { ...rest, params: namedOnly(objectAt(document, "spec")["params"]) } };
}

/** Copies only the branches that lead to something broken. */
function without(object: JsonObject, path: FieldPath, broken: readonly string[]): JsonObject {
  const kept = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] => {
    const field = formatFieldPath([...path, name]);
    const inside = broken.filter((other) => isWithin(other, field));
    if (inside.length === 0) return value === undefined ? [] : [[name, value]];
    if (inside.includes(field) || !isJsonObject(value)) return [];
    return [[name, without(value, [...path, name], broken)]];
  });
  return Object.fromEntries(kept);
}

function namedOnly(params: JsonValue | undefined): readonly JsonValue[] {
  if (!Array.isArray(params)) return [];
  const list: readonly JsonValue[] = params;
  return list.flatMap((param) =>
    isJsonObject(param) && typeof param["name"] === "string" ? [{ name: param["name"] }] : [],
  );
}

/** Complaints that something is missing mean nothing where something was left out. */
function quietAbout(broken: readonly string[], found: ProblemCollector): ProblemCollector {
  const missing = new Set(["not-exactly-one", "required", "no-steps"]);
  return {
    ...found,
    error(path, code, ...rest) {
      const field = formatFieldPath(path);
      const follows = missing.has(code) && broken.some((other) => isWithin(other, field) || isWithin(field, other));
      if (!follows) found.error(path, code, ...rest);
    },
  };
}

/** The path a text names, found by walking the document; what does not exist there is one last member. */
function fieldTokens(document: JsonValue, field: string): FieldPath {
  const path: (string | number)[] = [];
  let value: JsonValue | undefined = document;
  for (;;) {
    const next = memberToward(value, path, field);
    if (next === undefined) break;
    path.push(next.name);
    value = next.value;
  }
  const rest = field.slice(formatFieldPath(path).length).replace(/^\./, "");
  return rest === "" ? path : [...path, rest];
}

/** The member of a value on the way to a field. */
function memberToward(value: JsonValue | undefined, path: FieldPath, field: string) {
  if (typeof value !== "object" || value === null) return undefined;
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonObject(value)
    ? Object.entries(value)
    : [...value.entries()];
  const found = members.find(([name]) => isWithin(field, formatFieldPath([...path, name])));
  return found === undefined ? undefined : { name: found[0], value: found[1] };
}
