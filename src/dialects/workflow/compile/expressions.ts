import { type FieldPath, formatFieldPath, isJsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import {
  type CelEnvironment,
  type CelFunction,
  type CelProgram,
  type CelReference,
  type CelReferences,
  type CelTemplate,
  compileExpression,
  compileTemplate,
  workflowFunctions,
} from "#lib/cel/index.ts";
import { getMember } from "#lib/json/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { WorkflowSpec } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { outputNames } from "./output-names.ts";
import { secretMisuse, secretNames, wholeParam } from "./secret-params.ts";
import type { StepSource } from "./step-source.ts";

/**
 * Where an expression stands decides what it may name: `gate` is a step's `when`, `item` that of its items, `body` its union member and
 * `wait.until`, `output` and `completion` see the object, `retry` the failed attempt, `until` what a round of a loop gave,
 * `result` is an output of the workflow.
 */
export type Site = "gate" | "item" | "body" | "output" | "completion" | "retry" | "until" | "result";

/** A step whose results an expression uses. `alias` is the name it uses, which may have `_` for `-`. */
export interface StepUse {
  readonly alias: string;
  readonly key: string;
}

/** An expression that parses, names only what its site knows, and uses only steps it may use. */
export interface CompiledExpression {
  readonly program: CelProgram;
  readonly uses: readonly StepUse[];
}

/** A document with `${{ }}` in its texts, all of them checked as a bare expression is. */
export interface CompiledTemplate {
  readonly template: CelTemplate;
  readonly uses: readonly StepUse[];
  /** Where a secret parameter is the whole of a text. */
  readonly secrets: readonly FieldPath[];
}

/** What an expression is checked against; one per step and site. */
export interface ExpressionScope {
  readonly spec: WorkflowSpec;
  /** All steps by what they can be called; see `stepsByName`. */
  readonly steps: ReadonlyMap<string, StepSource>;
  /** Whether the step with this key may be used. */
  readonly isVisible: (key: string) => boolean;
  readonly site: Site;
  /** Belongs to a final step: `run` is known. */
  readonly final: boolean;
  /** Names that only this step has: `item` and `index` of a fan-out, `iteration` of a loop. Not known to its gate. */
  readonly local?: readonly string[];
  /** What may follow `item`; undefined when that cannot be told. */
  readonly axes?: readonly string[] | undefined;
  /** What the message calls the user of the expression: `step "deploy"`. */
  readonly user: string;
  /** Whether a secret parameter may be the whole of the text at a place of the document; nowhere when absent. */
  readonly isSecretPlace?: (path: FieldPath) => boolean;
}

/**
 * The name under which a gate's bindings hold what the status functions answer. No expression can name it: `$` begins
 * no identifier of CEL.
 */
export const gateBinding = "$gate";

const statusFunction = (name: string, answer: string): CelFunction => ({
  signature: `${name}(): bool`,
  call: (_args, bindings) => answer === "always" || readAnswer(bindings[gateBinding], answer),
});

/** The binding says `ok` or `bad`; which of them is asked for is the function's business. */
const readAnswer = (gate: JsonValue | undefined, answer: string): boolean => jsonEquals(gate, answer);

/** `success()`, `failure()` and `always()`: known in gates only. */
const statusFunctions = [
  statusFunction("success", "ok"),
  statusFunction("failure", "bad"),
  statusFunction("always", "always"),
];

const commonFunctions = workflowFunctions((canonical) => hashName([canonical], 51));

/** What each site knows beside `params`, `steps`, `workflow`, `schedule`, and `run` in final steps. */
const variables: Readonly<Record<Site, readonly string[]>> = {
  gate: [],
  item: [],
  body: [],
  output: ["result", "object"],
  completion: ["object"],
  retry: ["attempt", "reason", "message", "exitCode", "outputs"],
  until: ["result", "object", "outputs"],
  result: [],
};

const environment = (site: Site, own: readonly string[]): CelEnvironment => ({
  variables: Object.fromEntries(
    ["params", "steps", "workflow", "schedule", ...own, ...variables[site]].map((name) => [name, "dyn"]),
  ),
  functions: site === "gate" ? [...commonFunctions, ...statusFunctions] : commonFunctions,
});

/** One for each site and set of names, made once: compiling one costs more than the expressions of a usual workflow. */
const environments = new Map<string, CelEnvironment>();

function environmentOf({ site, final, local = [] }: ExpressionScope): CelEnvironment {
  const own = [...(final ? ["run"] : []), ...(site === "gate" ? [] : local)];
  const name = [site, ...own].join(" ");
  const known = environments.get(name) ?? environment(site, own);
  environments.set(name, known);
  return known;
}

/** Sites of expressions that are true or false. */
const isCondition: ReadonlySet<Site> = new Set(["gate", "item", "completion", "retry", "until"]);

/** The type of an expression's value, in the words of CEL, or of the parameter that it is; undefined when it is known only when it is evaluated. */
function resultOf({ resultType, source, references }: CelProgram, { params = [] }: WorkflowSpec): string | undefined {
  if (!resultType.startsWith("dyn")) return resultType;
  const [
    {
      root,
      path: [name = ""],
    } = { root: "", path: [] },
  ] = references.variables;
  if (root !== "params" || source.trim() !== `params.${name}`) return undefined;
  const type = params.find((param) => param.name === name)?.type;
  return type === "boolean" ? "bool" : type;
}

/** Compiles a bare expression. Undefined when it is wrong; everything wrong with it has then been reported. */
export function compileBare(
  source: string,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): CompiledExpression | undefined {
  const program = compileExpression(source, environmentOf(scope));
  if (!program.ok) {
    const { column, message } = program.error;
    report(at, "invalid-expression", `column ${column}: ${message}`);
    return undefined;
  }
  const uses = checkReferences(program.value.references, scope, at, report);
  if (isCondition.has(scope.site)) {
    const type = resultOf(program.value, scope.spec);
    if (type !== undefined && type !== "bool")
      report(at, "invalid-expression", `column 1: expected a boolean, the expression is of type ${type}`);
  }
  return uses === undefined ? undefined : { program: program.value, uses };
}

/**
 * Compiles every `${{ }}` of a document, as `compileBare` does for one. Everything wrong with any of them is
 * reported, each at its text, with the column in it.
 */
export function compileBody(
  document: JsonValue,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): CompiledTemplate | undefined {
  const template = compileTemplate(document, environmentOf(scope));
  if (template.ok) {
    const uses = checkTemplate(template.value, document, scope, at, report);
    const secrets = secretsIn(template.value, document, scope);
    return uses === undefined ? undefined : { template: template.value, uses, secrets };
  }
  for (const { path, column, message } of template.error)
    report([...at, ...path], "invalid-expression", `column ${column}: ${message}`);
  reportOthers(document, new Set(template.error.map(({ path }) => formatFieldPath(path))), [], scope, at, report);
  return undefined;
}

/** The steps a template uses, or undefined when a reference in it is wrong. */
function checkTemplate(
  template: CelTemplate,
  document: JsonValue,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): readonly StepUse[] | undefined {
  const found = template.expressions.map(({ path, source, references }) => {
    // Columns of references count from the start of the expression; people count from the start of the text.
    const text = valueAt(document, path);
    const start = typeof text === "string" ? text.indexOf(`\${{${source}`) + 3 : 0;
    // What is well placed here needs no look at what is wrong with it elsewhere.
    if (isSecretIn(text, path, scope)) return [];
    return checkReferences(references, scope, [...at, ...path], report, start);
  });
  return found.includes(undefined) ? undefined : distinct(found.flatMap((some) => some ?? []));
}

/** A text that is a secret parameter as a whole, at a place where it may be. */
const isSecretIn = (text: JsonValue | undefined, path: FieldPath, { spec, isSecretPlace }: ExpressionScope): boolean =>
  isSecretPlace?.(path) === true && secretNames(spec.params).has(wholeParam(text) ?? "");

const secretsIn = (template: CelTemplate, document: JsonValue, scope: ExpressionScope): readonly FieldPath[] =>
  template.expressions.map(({ path }) => path).filter((path) => isSecretIn(valueAt(document, path), path, scope));

function valueAt(document: JsonValue, path: FieldPath): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const part of path) value = value === undefined ? undefined : getMember(value, String(part));
  return value;
}

/**
 * One wrong expression must not hide what is wrong with the others: each remaining text is compiled by itself. Only
 * documents with a mistake pay for that.
 */
function reportOthers(
  value: JsonValue,
  known: ReadonlySet<string>,
  path: FieldPath,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): void {
  if (typeof value === "string") {
    if (!value.includes("${{") || known.has(formatFieldPath(path))) return;
    const template = compileTemplate(value, environmentOf(scope));
    if (template.ok) checkTemplate(template.value, value, scope, [...at, ...path], report);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonObject(value)
    ? Object.entries(value)
    : [...value.entries()];
  for (const [name, member] of members)
    if (member !== undefined) reportOthers(member, known, [...path, name], scope, at, report);
}

/** One use per name, however often it is written. */
const distinct = (uses: readonly StepUse[]): readonly StepUse[] => [
  ...new Map(uses.map((use) => [use.alias, use])).values(),
];

/** The steps used, or undefined when a reference is wrong. */
function checkReferences(
  { variables: found }: CelReferences,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
  start = 0,
): readonly StepUse[] | undefined {
  const uses: StepUse[] = [];
  let wrong = false;
  for (const reference of found) {
    const answer = checkReference(reference, scope);
    if (typeof answer === "object") uses.push(answer);
    else if (answer !== undefined) {
      wrong = true;
      report(at, "invalid-expression", `column ${start + reference.column}: ${answer}`);
    }
  }
  return wrong ? undefined : distinct(uses);
}

/** The step a reference uses, or what is wrong with it, or undefined when it is right and uses none. */
function checkReference(reference: CelReference, scope: ExpressionScope): StepUse | string | undefined {
  const { root, path } = reference;
  const [name] = path;
  if (root === "steps") return checkStepUse(path, scope);
  const misuse = root === "params" ? secretMisuse(reference, secretNames(scope.spec.params)) : undefined;
  if (misuse !== undefined || name === undefined) return misuse;
  const known = root === "item" ? scope.axes : knownMembers(root, scope.spec);
  return known === undefined || known.includes(name) ? undefined : unknown(membersCalled[root] ?? root, name, known);
}

const membersCalled: Readonly<Record<string, string>> = {
  item: "axis",
  params: "parameter",
  workflow: "workflow field",
  schedule: "schedule field",
  run: "run field",
};

/** What may follow a variable; undefined when anything may. */
function knownMembers(root: string, spec: WorkflowSpec): readonly string[] | undefined {
  if (root === "params") return (spec.params ?? []).map((param) => param.name);
  if (root === "workflow") return ["name", "namespace", "uid", "labels", "runNumber", "startTime"];
  if (root === "schedule") return ["time"];
  return root === "run" ? ["phase", "failed"] : undefined;
}

/** What is not there, and what was probably meant. */
function unknown(what: string, name: string, known: Iterable<string>): string {
  const close = nearest(name, known);
  return close === undefined ? `no ${what} "${name}"` : `no ${what} "${name}", did you mean "${close}"`;
}

/** What may follow `steps.KEY`; the same as `stepValue` in `values.ts` makes. */
const stepFields = ["outputs", "phase", "reason", "attempt", "startTime", "finishTime", "items"];

/**
 * The graph is what the document shows: using a result without depending on its step is an error, not an edge. A key
 * with `-` may be written with `_`, since `-` is minus in CEL; `steps["unit-test"]` works as well.
 */
function checkStepUse([alias, field, output]: readonly string[], scope: ExpressionScope): StepUse | string {
  if (alias === undefined) return "steps must be followed by the key of a step";
  const { steps, user } = scope;
  const used = steps.get(alias);
  if (used === undefined) return unknown("step", alias, new Set([...steps.values()].map(({ key }) => key)));
  if (!scope.isVisible(used.key)) return `${user} does not depend on "${used.key}", so its results are not known`;
  if (field !== undefined && !stepFields.includes(field)) return unknown("step field", field, stepFields);
  const declared = outputNames(used.step);
  if (field === "outputs" && output !== undefined && declared?.includes(output) === false)
    return unknown(`output of "${used.key}"`, output, declared);
  return { alias, key: used.key };
}
