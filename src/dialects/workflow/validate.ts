import {
  type FieldPath,
  formatFieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Problem,
} from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { compileAhead, compileWorkflow } from "./compile/compile.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { checkStepCount } from "./compile/shape.ts";
import { checkStepArguments } from "./step-arguments.ts";
import {
  checkUnknown,
  codeOf,
  collectProblems,
  fieldTokens,
  hintOf,
  isWithin,
  parentOf,
  type ProblemCollector,
  type Report,
} from "#kernel/dialect/index.ts";
import { Workflow, type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";
import { maxSpecBytes } from "./spec-of.ts";

/** `compiled` exists if there is no error; warnings may exist either way. */
export interface Validated {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

const workflowSchema = compileSchema(Workflow.schema);
const templateSchema = compileSchema(WorkflowTemplate.schema);

/**
 * Validates a Workflow document of any form: old drafts, schema and meaning. Parts refused by the schema are left out
 * of later checks, so that each mistake is reported once. Adds to `found`, whose members are not reported as missing.
 * Never throws. Too many steps end the validation.
 */
export const validateWorkflow = (document: JsonObject, found: ProblemCollector = collectProblems()): Validated =>
  validate(document, workflowSchema, found, isSmall);

/** Compiles a faultless document in steps, for a `validateWorkflow` of the same object. */
export const validateAhead = (document: JsonObject): Generator<undefined, void> => ahead(document, workflowSchema);

/** The same for a `validateTemplate`. */
export function validateTemplateAhead(document: JsonObject): Generator<undefined, void> {
  const bare = bareTemplate(document);
  bareTemplates.set(document, bare);
  return ahead(bare, templateSchema);
}

/** What was compiled ahead, by document. Weak. */
const bareTemplates = new WeakMap<JsonObject, JsonObject>();

function* ahead(document: JsonObject, schema: CompiledSchema): Generator<undefined, void> {
  const quiet = collectProblems();
  if (!checkStepCount(countSteps(document), quiet.error) || !isSmall(document, quiet.error)) return;
  if (checkRaw(document, quiet.error).length > 0) return;
  yield;
  if (schema.validate(document).length > 0) return;
  yield;
  yield* compileAhead(asWorkflow(document));
}

/** False, and reported, if the spec is too large. */
export function isSmall({ spec = {} }: JsonObject, report: Report): boolean {
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes <= maxSpecBytes) return true;
  report(["spec"], "too-large", `must not be larger than ${maxSpecBytes} bytes, found ${bytes}`);
  return false;
}

const notOfTemplates = {
  arguments: "a template has no arguments; give its params defaults",
  suspend: "a template is not run by itself; suspend the workflows that refer to it",
  templateRef: "a template holds its steps itself",
} as const satisfies Partial<Record<keyof WorkflowSpec, string>>;

/** Validates a WorkflowTemplate like a Workflow. Parameters may lack values. `isAllowed` judges its size. */
export function validateTemplate(
  document: JsonObject,
  found: ProblemCollector = collectProblems(),
  isAllowed = isSmall,
): Validated {
  const spec = objectAt(document, "spec");
  for (const [field, message] of Object.entries(notOfTemplates))
    if (spec[field] !== undefined) found.error(["spec", field], "forbidden", message);
  const later: ProblemCollector = {
    ...found,
    error: (path, code, ...told) => (code === "missing-argument" ? undefined : found.error(path, code, ...told)),
  };
  return validate(bareTemplates.get(document) ?? bareTemplate(document), templateSchema, later, isAllowed);
}

/** A template without the fields that only runs have. Its name is no part of what is checked. */
function bareTemplate(document: JsonObject): JsonObject {
  const { namespace } = objectAt(document, "metadata");
  const rest = Object.entries(objectAt(document, "spec")).filter(([field]) => !Object.hasOwn(notOfTemplates, field));
  return {
    ...document,
    metadata: namespace === undefined ? {} : { namespace },
    ...(isJsonObject(document["spec"]) ? { spec: Object.fromEntries(rest) } : {}),
  };
}

function validate(
  document: JsonObject,
  schema: CompiledSchema,
  found: ProblemCollector,
  isAllowed: typeof isSmall,
): Validated {
  if (!checkStepCount(countSteps(document), found.error) || !isAllowed(document, found.error))
    return { compiled: undefined, problems: found.problems };
  const broken = checkRaw(document, found.error);
  for (const error of schema.validate(document)) {
    if (broken.some((path) => isWithin(error.field, path))) continue;
    found.error(fieldTokens(document, error.field), codeOf(error), error.message, hintOf(error));
    broken.push(error.reason === "FieldValueRequired" ? parentOf(error.field) : error.field);
  }
  const compiled = compileWorkflow(asWorkflow(repaired(document, broken)), quietAbout(broken, found));
  checkChildren(document, found);
  return { compiled: broken.length === 0 ? compiled : undefined, problems: found.problems };
}

/** An inline child spec is validated like a template, because this schema accepts any object. */
function checkChildren(document: JsonObject, found: ProblemCollector): void {
  const spec = objectAt(document, "spec");
  const { namespace } = objectAt(document, "metadata");
  for (const part of ["steps", "finally"]) {
    for (const [key, step] of Object.entries(objectAt(spec, part))) {
      const child = isJsonObject(step) ? objectAt(step, "workflow")["spec"] : undefined;
      if (!isJsonObject(child)) continue;
      const at = ["spec", part, key, "workflow"];
      const template = { ...templateHead, spec: child };
      const inPlace = within(at, found);
      checkUnknown(WorkflowTemplate.schema, templateSchema, template, inPlace.error);
      validateTemplate({ ...template, metadata: namespace === undefined ? {} : { namespace } }, inPlace, () => true);
      checkChildArguments(template, objectAt(objectAt(spec, part), key)["workflow"], at, found);
    }
  }
}

/** Arguments of wrong parameters are not checked. */
function checkChildArguments(
  template: JsonObject,
  step: JsonValue | undefined,
  at: FieldPath,
  found: ProblemCollector,
): void {
  const declared = formatFieldPath([...at, "spec", "params"]);
  const isTold = found.problems.some(({ path, severity }) => severity === "error" && isWithin(path, declared));
  const given = isJsonObject(step) ? (step["arguments"] ?? {}) : {};
  if (isTold || !isJsonObject(given)) return;
  // Validated by the schema.
  const { spec } = template as unknown as WorkflowTemplate;
  checkStepArguments(spec.params ?? [], given, [...at, "arguments"], found.error);
}

const templateHead = { apiVersion: apiVersionOf(WorkflowTemplate), kind: WorkflowTemplate.kind };

const within = (at: FieldPath, found: ProblemCollector): ProblemCollector => ({
  problems: found.problems,
  error: (path, ...told) => found.error([...at, ...path], ...told),
  warn: (path, ...told) => found.warn([...at, ...path], ...told),
});

/** Includes final steps. */
function countSteps(document: JsonObject): number {
  const spec = objectAt(document, "spec");
  return Object.keys(objectAt(spec, "steps")).length + Object.keys(objectAt(spec, "finally")).length;
}

/** Validated by the schema. */
const asWorkflow = (document: JsonObject): Workflow => document as unknown as Workflow;

/** Counts and durations that must be positive; one message. */
const positiveInSpec = [
  "activeDeadlineSeconds",
  "finallyDeadlineSeconds",
  "parallelism",
] as const satisfies readonly (keyof WorkflowSpec)[];
const positiveInStep = ["timeoutSeconds", "deadlineSeconds"];
const positiveInApproval = ["minApprovals", "timeoutSeconds"];

/** Checks with better messages than the schema's. Returns the fields whose schema errors are dropped. */
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
      checkPositive(objectAt(step, "approval"), positiveInApproval, [...path, "approval"], refuse);
      checkDrafts(step, path, refuse);
    }
  }
  return broken;
}

/** `field`: what later checks leave out, if more than the path. */
type Refuse = (path: FieldPath, code: string, message: string, field?: FieldPath) => void;

/** One message instead of type and minimum. `5.0` is 5. */
function checkPositive(object: JsonObject, fields: readonly string[], path: FieldPath, refuse: Refuse): void {
  for (const field of fields) {
    const value = object[field];
    if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value > 0)) continue;
    refuse([...path, field], "not-positive", `must be a positive integer, found ${JSON.stringify(value)}`);
  }
}

/** Two earlier shapes of the proposal are still in use; the message shows the current one. */
function checkDrafts(step: JsonObject, path: FieldPath, refuse: Refuse): void {
  const { dependencies, jobTemplate } = step;
  if (isJsonObject(dependencies)) {
    const message =
      "must be a list of step keys, such as [one, two]; an object with dependencyIDs is the shape of an early draft";
    refuse([...path, "dependencies"], "draft-shape", message);
  }
  if (!isJsonObject(jobTemplate) || jobTemplate["template"] === undefined) return;
  const message =
    "must stand inside spec: jobTemplate holds metadata and spec; a bare JobSpec is the shape of an early draft";
  const at = [...path, "jobTemplate", "template"];
  // Without a spec the whole template has the old shape and cannot be checked.
  refuse(at, "draft-shape", message, jobTemplate["spec"] === undefined ? [...path, "jobTemplate"] : at);
}

/** Empty for anything else, which the schema reports. */
function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/** The document without broken fields; lists with a broken item are dropped to keep other positions. */
function repaired(document: JsonObject, broken: readonly string[]): JsonObject {
  if (broken.length === 0) return document;
  const spec = objectAt(document, "spec");
  const { params } = spec;
  const list: readonly JsonValue[] | undefined = Array.isArray(params) ? params : undefined;
  const isWhole = (index: number): boolean => !broken.some((field) => isWithin(field, `spec.params[${index}]`));
  const clean = without(document, [], broken);
  const cleanSpec = objectAt(clean, "spec");
  // Parameters and arguments cannot be checked.
  if (list === undefined || broken.includes("spec.params")) {
    const { arguments: given, ...rest } = cleanSpec;
    return { ...clean, spec: params === undefined && given !== undefined ? cleanSpec : rest };
  }
  const nameless = list.some((param, index) => !isWhole(index) && nameOf(param) === undefined);
  const unclear = new Set(list.flatMap((param, index) => (isWhole(index) ? [] : [nameOf(param)])));
  const given = Object.entries(objectAt(cleanSpec, "arguments")).filter(([name]) => !unclear.has(name));
  return {
    ...clean,
    spec: {
      ...cleanSpec,
      params: list.flatMap((param, index) => (isWhole(index) ? [param] : namedOnly(param))),
      // It may belong to the parameter whose name is unreadable.
      arguments: nameless ? {} : Object.fromEntries(given),
    },
  };
}

/** Copies only branches with broken fields. O(their members x broken). */
function without(object: JsonObject, path: FieldPath, broken: readonly string[]): JsonObject {
  const kept = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] => {
    const field = formatFieldPath([...path, name]);
    const inside = broken.filter((other) => isWithin(other, field));
    if (inside.length === 0) return value === undefined ? [] : [[name, value]];
    if (inside.includes(field) || !isJsonObject(value)) return [];
    return [[name, without(value, [...path, name], inside)]];
  });
  return Object.fromEntries(kept);
}

const nameOf = (param: JsonValue): string | undefined =>
  isJsonObject(param) && typeof param["name"] === "string" && param["name"] !== "" ? param["name"] : undefined;

/** Expressions may use the name. */
function namedOnly(param: JsonValue): readonly JsonValue[] {
  const name = nameOf(param);
  return name === undefined ? [] : [{ name }];
}

const missing: ReadonlySet<string> = new Set(["not-exactly-one", "required", "no-steps", "missing-argument"]);

/** Missing members are not reported where something was dropped or reported. */
function quietAbout(broken: readonly string[], found: ProblemCollector): ProblemCollector {
  const isTold = (field: string): boolean =>
    broken.some((other) => isWithin(other, field) || isWithin(field, other)) ||
    found.problems.some(({ path, severity }) => path === field && severity === "error");
  return {
    ...found,
    error(path, code, ...rest) {
      if (!missing.has(code) || !isTold(formatFieldPath(path))) found.error(path, code, ...rest);
    },
  };
}
