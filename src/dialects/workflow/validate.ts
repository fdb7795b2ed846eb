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
import { compileWorkflow } from "./compile/compile.ts";
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

/**
 * A document that was checked. `compiled` exists exactly when there is no error; warnings may be there in both cases.
 */
export interface Validated {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

const workflowSchema = compileSchema(Workflow.schema);
const templateSchema = compileSchema(WorkflowTemplate.schema);

/**
 * Checks a Workflow document, whatever it holds: shapes of earlier drafts, schema, and meaning, all problems at once. What
 * the schema refuses is left out before the meaning is checked, so that one mistake is reported once and hides no other.
 *
 * Findings are added to those that `found` holds already; a member that one of them is about is not called missing in
 * addition. Never throws. A document with more steps than are allowed is told so, and nothing else: its checks would take
 * longer the farther it is beyond the bound, and a change that brings it below will be checked again anyway.
 */
export const validateWorkflow = (document: JsonObject, found: ProblemCollector = collectProblems()): Validated =>
  validate(document, workflowSchema, found, isSmall);

/** False, and reported, when the specification is larger than one may be. */
export function isSmall({ spec = {} }: JsonObject, report: Report): boolean {
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes <= maxSpecBytes) return true;
  report(["spec"], "too-large", `must not be larger than ${maxSpecBytes} bytes, found ${bytes}`);
  return false;
}

/** Of a run, and not of what is run. */
const notOfTemplates = {
  arguments: "a template has no arguments; give its params defaults",
  suspend: "a template is not run by itself; suspend the workflows that refer to it",
  templateRef: "a template holds its steps itself",
} as const satisfies Partial<Record<keyof WorkflowSpec, string>>;

/**
 * Checks a WorkflowTemplate document as `validateWorkflow` does a Workflow. Required parameters may be without a value: whoever
 * refers to the template gives it. Its name is nobody's who runs it, so that references to a Workflow of that name are fine.
 * `isAllowed` judges its size, which for a template inside another document is a part of that document's.
 */
export function validateTemplate(
  document: JsonObject,
  found: ProblemCollector = collectProblems(),
  isAllowed = isSmall,
): Validated {
  const spec = objectAt(document, "spec");
  for (const [field, message] of Object.entries(notOfTemplates))
    if (spec[field] !== undefined) found.error(["spec", field], "forbidden", message);
  const rest = Object.entries(spec).filter(([field]) => !Object.hasOwn(notOfTemplates, field));
  const { namespace } = objectAt(document, "metadata");
  const metadata = namespace === undefined ? {} : { namespace };
  const bare = { ...document, metadata, ...(isJsonObject(document["spec"]) ? { spec: Object.fromEntries(rest) } : {}) };
  const later: ProblemCollector = {
    ...found,
    error: (path, code, ...told) => (code === "missing-argument" ? undefined : found.error(path, code, ...told)),
  };
  return validate(bare, templateSchema, later, isAllowed);
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

/** What a child is to run is checked as a template is, where it stands; the schema of this document takes it for any object. */
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

/** Of parameters that are wrong themselves there is no telling what their arguments must be. */
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
  // The schema has found nothing in them.
  const { spec } = template as unknown as WorkflowTemplate;
  checkStepArguments(spec.params ?? [], given, [...at, "arguments"], found.error);
}

const templateHead = { apiVersion: apiVersionOf(WorkflowTemplate), kind: WorkflowTemplate.kind };

/** Findings about a part of the document, told by their place in the whole. */
const within = (at: FieldPath, found: ProblemCollector): ProblemCollector => ({
  problems: found.problems,
  error: (path, ...told) => found.error([...at, ...path], ...told),
  warn: (path, ...told) => found.warn([...at, ...path], ...told),
});

/** Final steps count too: they are vertices like all others. */
function countSteps(document: JsonObject): number {
  const spec = objectAt(document, "spec");
  return Object.keys(objectAt(spec, "steps")).length + Object.keys(objectAt(spec, "finally")).length;
}

/** The schema has passed what is left of the document: from here on it is typed. */
const asWorkflow = (document: JsonObject): Workflow => document as unknown as Workflow;

/** Counts and durations of which zero would mean never: they share one message. */
const positiveInSpec = [
  "activeDeadlineSeconds",
  "finallyDeadlineSeconds",
  "parallelism",
] as const satisfies readonly (keyof WorkflowSpec)[];
const positiveInStep = ["timeoutSeconds", "deadlineSeconds"];
const positiveInApproval = ["minApprovals", "timeoutSeconds"];

/**
 * What deserves a better message than the schema's, in the raw document. Returns the fields that are settled by it,
 * in Kubernetes' notation, so that the schema's words about them are left out.
 */
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

/** `field` is what is left out of further checks, where that is more than the place of the message. */
type Refuse = (path: FieldPath, code: string, message: string, field?: FieldPath) => void;

/** JSON has one kind of number; the messages of a schema would speak of types and minimums separately. `5.0` is 5. */
function checkPositive(object: JsonObject, fields: readonly string[], path: FieldPath, refuse: Refuse): void {
  for (const field of fields) {
    const value = object[field];
    if (value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value > 0)) continue;
    refuse([...path, field], "not-positive", `must be a positive integer, found ${JSON.stringify(value)}`);
  }
}

/**
 * The proposal had two earlier shapes that are still found in the wild (workflow.md section 17): they are answered
 * with the present shape instead of with a complaint about types.
 */
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
  // Without a spec the whole is of the other shape, and nothing else of it can be judged by the present one.
  refuse(at, "draft-shape", message, jobTemplate["spec"] === undefined ? [...path, "jobTemplate"] : at);
}

/** What is no object is reported by the schema; here it holds nothing. */
function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

/**
 * The document without the broken fields. A list with a broken item goes whole, because the places of the others must not
 * move; but of `params` only the broken ones are reduced to their names, so that the others and their arguments are checked.
 */
function repaired(document: JsonObject, broken: readonly string[]): JsonObject {
  if (broken.length === 0) return document;
  const spec = objectAt(document, "spec");
  const { params } = spec;
  const list: readonly JsonValue[] | undefined = Array.isArray(params) ? params : undefined;
  const isWhole = (index: number): boolean => !broken.some((field) => isWithin(field, `spec.params[${index}]`));
  const clean = without(document, [], broken);
  const cleanSpec = objectAt(clean, "spec");
  // Broken as a whole there is no telling which parameters exist, nor what the arguments must be.
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
      // An argument that nobody declares may be that of a parameter whose name cannot be read.
      arguments: nameless ? {} : Object.fromEntries(given),
    },
  };
}

/**
 * Copies only the branches that lead to something broken; everything else is shared. O(members on those branches x
 * broken).
 */
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

/** Expressions may still name a parameter of which nothing else can be told. */
function namedOnly(param: JsonValue): readonly JsonValue[] {
  const name = nameOf(param);
  return name === undefined ? [] : [{ name }];
}

const missing: ReadonlySet<string> = new Set(["not-exactly-one", "required", "no-steps", "missing-argument"]);

/** Complaints that something is missing mean nothing where something was left out, or was complained about before. */
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
