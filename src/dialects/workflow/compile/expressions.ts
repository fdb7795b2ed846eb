import {
  type FieldPath,
  formatFieldPath,
  getOrAdd,
  isJsonObject,
  jsonEquals,
  type JsonValue,
} from "#lib/base/index.ts";
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
 * The place of an expression decides which names it may use: `gate` is `when`, `item` an item's, `body` the step's type
 * and `wait.until`, `output` and `completion` see the object, `retry` the failed attempt, `until` a loop's round,
 * `result` is an output of the workflow.
 */
export type Site = "gate" | "item" | "body" | "output" | "completion" | "retry" | "until" | "result";

/** `alias` is the written name, which may have `_` for `-`. */
export interface StepUse {
  readonly alias: string;
  readonly key: string;
}

export interface CompiledExpression {
  readonly program: CelProgram;
  readonly uses: readonly StepUse[];
}

export interface CompiledTemplate {
  readonly template: CelTemplate;
  readonly uses: readonly StepUse[];
  /** Places where a secret parameter is the whole text. */
  readonly secrets: readonly FieldPath[];
}

/** One per step and site. */
export interface ExpressionScope {
  readonly spec: WorkflowSpec;
  /** By all their names; see `stepsByName`. */
  readonly steps: ReadonlyMap<string, StepSource>;
  readonly isVisible: (key: string) => boolean;
  readonly site: Site;
  /** Final steps know `run`. */
  readonly final: boolean;
  /** Names of this step only: `item`, `index`, `iteration`. Unknown to its gate. */
  readonly local?: readonly string[];
  /** Members of `item`; undefined if unknown. */
  readonly axes?: readonly string[] | undefined;
  readonly user: string;
  /** Where a secret parameter may be the whole text; nowhere if absent. */
  readonly isSecretPlace?: (path: FieldPath) => boolean;
}

/** Binding of the status functions. No expression can name it, because CEL identifiers cannot begin with `$`. */
export const gateBinding = "$gate";

const statusFunction = (name: string, answer: string): CelFunction => ({
  signature: `${name}(): bool`,
  call: (_args, bindings) => answer === "always" || readAnswer(bindings[gateBinding], answer),
});

/** The binding is `ok` or `bad`. */
const readAnswer = (gate: JsonValue | undefined, answer: string): boolean => jsonEquals(gate, answer);

/** Only in gates. */
const statusFunctions = [
  statusFunction("success", "ok"),
  statusFunction("failure", "bad"),
  statusFunction("always", "always"),
];

const commonFunctions = workflowFunctions((canonical) => hashName([canonical], 51));

/** Names of each site besides `params`, `steps`, `workflow`, `schedule`, and `run` in final steps. */
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

/** Cached, because creating one costs more than the expressions of a usual workflow. */
const environments = new Map<string, CelEnvironment>();

function environmentOf({ site, final, local = [] }: ExpressionScope): CelEnvironment {
  const own = [...(final ? ["run"] : []), ...(site === "gate" ? [] : local)];
  const name = [site, ...own].join(" ");
  return getOrAdd(environments, name, () => environment(site, own));
}

const isCondition: ReadonlySet<Site> = new Set(["gate", "item", "completion", "retry", "until"]);

/** The type of an expression in CEL's words, or its parameter's; undefined if only known at run time. */
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

/** The used steps, or undefined if a reference is wrong. */
function checkTemplate(
  template: CelTemplate,
  document: JsonValue,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): readonly StepUse[] | undefined {
  const found = template.expressions.map(({ path, source, references }) => {
    // Columns of references count from the expression, those of messages from the text.
    const text = valueAt(document, path);
    const start = typeof text === "string" ? text.indexOf(`\${{${source}`) + 3 : 0;
    // Valid here, whatever is wrong elsewhere.
    if (isSecretIn(text, path, scope)) return [];
    return checkReferences(references, scope, [...at, ...path], report, start);
  });
  return found.includes(undefined) ? undefined : distinct(found.flatMap((some) => some ?? []));
}

/** The text is exactly a secret parameter, at an allowed place. */
const isSecretIn = (text: JsonValue | undefined, path: FieldPath, { spec, isSecretPlace }: ExpressionScope): boolean =>
  isSecretPlace?.(path) === true && secretNames(spec.params).has(wholeParam(text) ?? "");

const secretsIn = (template: CelTemplate, document: JsonValue, scope: ExpressionScope): readonly FieldPath[] =>
  template.expressions.map(({ path }) => path).filter((path) => isSecretIn(valueAt(document, path), path, scope));

function valueAt(document: JsonValue, path: FieldPath): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const part of path) value = value === undefined ? undefined : getMember(value, String(part));
  return value;
}

/** Compiles each remaining text by itself, so that one error does not hide others. Only after a mistake. */
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

const distinct = (uses: readonly StepUse[]): readonly StepUse[] => [
  ...new Map(uses.map((use) => [use.alias, use])).values(),
];

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

/** The used step, the problem, or undefined if it is right and uses none. */
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

/** Known members of a variable; undefined if any may follow. */
function knownMembers(root: string, spec: WorkflowSpec): readonly string[] | undefined {
  if (root === "params") return (spec.params ?? []).map((param) => param.name);
  if (root === "workflow") return ["name", "namespace", "uid", "labels", "runNumber", "startTime"];
  if (root === "schedule") return ["time"];
  return root === "run" ? ["phase", "failed"] : undefined;
}

function unknown(what: string, name: string, known: Iterable<string>): string {
  const close = nearest(name, known);
  return close === undefined ? `no ${what} "${name}"` : `no ${what} "${name}", did you mean "${close}"`;
}

/** Members of `steps.KEY`, as `stepValue` in `values.ts` makes them. */
const stepFields = ["outputs", "phase", "reason", "attempt", "startTime", "finishTime", "items"];

/**
 * Using a step without depending on it is an error, not an implicit edge. A key with `-` may be written with `_`,
 * because `-` is minus in CEL, or as `steps["unit-test"]`.
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
