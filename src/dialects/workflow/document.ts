import {
  deepFreeze,
  type FieldPath,
  formatFieldPath,
  hasErrors,
  isJsonObject,
  type JsonObject,
  err,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  checkName,
  checkSchema,
  checkUnknown,
  collectProblems,
  type DocumentReader,
  type DocumentReading,
  type ProblemCollector,
  type ReadOptions,
  type Report,
  RunAction,
  type SourceDocument,
} from "#kernel/dialect/index.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { checkAgainst, referencesOf, templateBeside } from "./beside.ts";
import { convert, isShipped } from "./convert.ts";
import { Workflow, WorkflowTemplate, type Param } from "./kinds.ts";
import { lintNames, lintWorkflow } from "./lint.ts";
import { ConcurrencyLimit } from "./locks/kind.ts";
import { indirectRecursions } from "./recursion.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";
import { validateSchedule } from "./schedule/validate.ts";
import { wrongArguments } from "./step-arguments.ts";
import { validateTemplate, validateWorkflow } from "./validate.ts";
import { parseArgument } from "./compile/params.ts";

/** Reads documents of this language, and Workflows of `workflow.k8s.io`. Never throws. */
export const documents: DocumentReader = {
  detect({ value }) {
    if (!isJsonObject(value)) return false;
    const { apiVersion, kind } = value;
    // Read by the kernel.
    if (kind === RunAction.kind) return false;
    return isShipped(value) || (typeof apiVersion === "string" && apiVersion.startsWith(`${Workflow.group}/`));
  },
  read: (document, options = {}) => {
    const { object, found } = readDocument(document, options);
    return {
      object: hasErrors(found.problems) ? undefined : object,
      problems: found.problems,
    } satisfies DocumentReading;
  },
  references: ({ value }) => (isJsonObject(value) && !isShipped(value) ? referencesOf(value) : []),
  lint(document, options = {}) {
    const { found, ...read } = readDocument(document, options, asGivenLater);
    const { object, compiled, found: inPlace } = read.template ?? { ...read, found };
    if (object !== undefined) lintNames(asDocument(object), inPlace);
    if (compiled !== undefined && object !== undefined) lintWorkflow(compiled, object, inPlace);
    return found.problems;
  },
  readTogether: wrongArguments,
  lintTogether(documents) {
    const wrong = wrongArguments(documents);
    return indirectRecursions(documents).map((found, index) => [...found, ...(wrong[index] ?? [])]);
  },
};

/** Missing arguments are fine for `lint`; `run` has them all. */
const asGivenLater = (found: ProblemCollector): ProblemCollector => ({
  ...found,
  error(path, code, message, hint) {
    if (code === "missing-argument")
      found.warn(path, code, message, "the argument must be set when the document is run");
    else found.error(path, code, message, hint);
  },
});

/** `compiled` exists without errors; `object` may exist beside problems. */
interface Read {
  readonly object: KubeObject | undefined;
  readonly compiled?: CompiledWorkflow | undefined;
  readonly found: ProblemCollector;
  /** Of a kind that contains a workflow. */
  readonly template?: Read;
}

const schemas = {
  workflow: compileSchema(Workflow.schema),
  template: compileSchema(WorkflowTemplate.schema),
  schedule: compileSchema(ScheduledWorkflow.schema),
  limit: compileSchema(ConcurrencyLimit.schema),
};

const ownKinds = [Workflow, WorkflowTemplate, ScheduledWorkflow, RunAction, ConcurrencyLimit] as const;

function readDocument(
  { value, positionOf }: SourceDocument,
  options: ReadOptions,
  judge = (all: ProblemCollector): ProblemCollector => all,
): Read {
  let toSource = (path: FieldPath): FieldPath => path;
  const all = collectProblems((path) => positionOf(toSource(path)));
  const found = judge(all);
  if (!isJsonObject(value)) {
    found.error([], "wrong-type", "expected an object");
    return { object: undefined, found };
  }
  if (value["kind"] === ConcurrencyLimit.kind && !isShipped(value)) return readLimit(value, found);
  if (value["kind"] === WorkflowTemplate.kind && !isShipped(value)) return readTemplate(value, found);
  const converted = isShipped(value) ? convert(value, found.error) : { object: value, sourcePath: toSource };
  if (converted === undefined) return { object: undefined, found };
  toSource = converted.sourcePath;
  // A scheduled run has nobody to give missing arguments.
  if (converted.object["kind"] === ScheduledWorkflow.kind) return readSchedule(converted.object, all);
  return readWorkflow(converted.object, options, found);
}

/** Arguments first, because required ones may be missing. An unreadable one is reported once. */
function readWorkflow(document: JsonObject, options: ReadOptions, found: ProblemCollector): Read {
  if (!checkEnvelope(document, ownKinds, found.error)) return { object: undefined, found };
  checkUnknown(Workflow.schema, schemas.workflow, document, found.error);
  const [{ ref } = {}] = referencesOf(document);
  const template = ref && templateBeside(ref.name, ref.namespace, options.beside ?? []);
  const spec = isJsonObject(document["spec"]) ? document["spec"] : {};
  const params = template === undefined ? readParams(spec["params"]) : (template.spec.params ?? []);
  const given = withArguments(document, options.arguments ?? {}, params, found.error);
  const { compiled } = validateWorkflow(given, found);
  if (template !== undefined) checkAgainst(template, given, unlessTold(found));
  // Frozen, so that it is compiled only once.
  return { object: asObject(deepFreeze(given)), compiled, found };
}

/** An unreadable argument is not missing. */
const unlessTold =
  ({ problems, error }: ProblemCollector): Report =>
  (path, ...told) => {
    const field = formatFieldPath(path);
    if (!problems.some((problem) => problem.path === field && problem.severity === "error")) error(path, ...told);
  };

/** `--param` is for runs. */
function readTemplate(document: JsonObject, found: ProblemCollector): Read {
  if (!checkEnvelope(document, [WorkflowTemplate], found.error)) return { object: undefined, found };
  checkUnknown(WorkflowTemplate.schema, schemas.template, document, found.error);
  const { compiled } = validateTemplate(document, found);
  return { object: asObject(document), compiled, found };
}

function readLimit(document: JsonObject, found: ProblemCollector): Read {
  if (!checkEnvelope(document, ownKinds, found.error)) return { object: undefined, found };
  checkUnknown(ConcurrencyLimit.schema, schemas.limit, document, found.error);
  checkSchema(schemas.limit, document, found.error);
  return { object: asObject(document), found };
}

function readSchedule(document: JsonObject, found: ProblemCollector): Read {
  if (!checkEnvelope(document, ownKinds, found.error)) return { object: undefined, found };
  checkUnknown(ScheduledWorkflow.schema, schemas.schedule, document, found.error);
  const { compiled, workflow, found: inPlace } = validateSchedule(document, found);
  return { object: asObject(document), found, template: { compiled, object: asObject(workflow), found: inPlace } };
}

const asObject = (document: JsonObject): KubeObject => document as unknown as KubeObject;
const asDocument = (object: KubeObject): JsonObject => object as unknown as JsonObject;

/** With a wrong version or kind all other complaints would follow from that. A wrong name hides nothing. */
function checkEnvelope(document: JsonObject, kinds: readonly (typeof ownKinds)[number][], report: Report): boolean {
  const { apiVersion, kind, metadata } = document;
  const wanted = apiVersionOf(Workflow);
  if (apiVersion !== wanted) {
    report(["apiVersion"], "unknown-version", `expected ${wanted}, found ${JSON.stringify(apiVersion)}`);
    return false;
  }
  if (!kinds.some((known) => known.kind === kind)) {
    const names = kinds
      .map((known) => known.kind)
      .join(", ")
      .replace(/, (?=\w+$)/, " or ");
    report(["kind"], "unknown-kind", `expected ${names}, found ${JSON.stringify(kind)}`);
    return false;
  }
  if (!isJsonObject(metadata)) {
    report(["metadata"], "required", "metadata with a name are required");
    return false;
  }
  checkName(metadata, report);
  return true;
}

/** The document with arguments of the command line, read by parameter type; they override its own. */
function withArguments(
  document: JsonObject,
  given: Readonly<Record<string, string>>,
  params: readonly Param[],
  report: Report,
): JsonObject {
  const names = Object.keys(given);
  const spec = document["spec"];
  if (names.length === 0 || !isJsonObject(spec)) return document;
  const values = names.flatMap((name): [string, JsonValue][] => {
    const value = readArgument(name, given[name] ?? "", params);
    if (value.ok) return [[name, value.value]];
    report(["spec", "arguments", name], "invalid-argument", value.error);
    return [];
  });
  const before = isJsonObject(spec["arguments"]) ? spec["arguments"] : {};
  return { ...document, spec: { ...spec, arguments: { ...before, ...Object.fromEntries(values) } } };
}

/** Read by the parameter's type, not guessed: `7` is a text for type string. */
function readArgument(name: string, text: string, params: readonly Param[]): Result<JsonValue, string> {
  const param = params.find((candidate) => candidate.name === name);
  // Reported when the document is checked.
  if (param === undefined) return ok(text);
  const value = parseArgument(param, text);
  return value.ok ? value : err(value.error);
}

const paramTypes: readonly NonNullable<Param["type"]>[] = ["string", "integer", "number", "boolean", "array", "object"];

function readParams(params: JsonValue | undefined): readonly Param[] {
  if (!Array.isArray(params)) return [];
  const list: readonly JsonValue[] = params;
  return list.flatMap((param): Param[] => {
    if (!isJsonObject(param) || typeof param["name"] !== "string") return [];
    const type = paramTypes.find((known) => known === param["type"]);
    const secret = param["secret"] === true ? { secret: true } : {};
    return [{ name: param["name"], ...(type === undefined ? {} : { type }), ...secret }];
  });
}
