import { isJsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { Workflow, WorkflowSpec } from "../kinds.ts";
import { collectProblems, type ProblemCollector, type Report } from "../problems.ts";
import type {
  CompiledCompletion,
  CompiledOutput,
  CompiledStep,
  CompiledWorkflow,
  Identity,
  WorkflowOutput,
} from "./compiled.ts";
import { expiringSteps } from "./expiring.ts";
import {
  type CompiledExpression,
  type CompiledTemplate,
  compileBare,
  compileBody,
  type ExpressionScope,
  type Site,
} from "./expressions.ts";
import { checkParams, paramValues } from "./params.ts";
import { planOf } from "./plan.ts";
import { checkReserved, checkSteps } from "./shape.ts";
import { buildStepGraphs, type StepGraphs, visibleSteps } from "./step-graph.ts";
import { checkStepBodies, isInstant } from "./step-rules.ts";
import { type StepSource, stepSources, stepType } from "./step-source.ts";

/** Faultless workflows by their spec: what admission has compiled, the controller finds here. They leave with the spec. */
const faultless = new WeakMap<WorkflowSpec, CompiledWorkflow>();

/**
 * Checks a whole workflow and prepares it to be run. Everything wrong is reported, not only the first thing; the result is
 * undefined when there was an error. Pure: the same workflow always compiles to the same plan.
 */
export function compileWorkflow(
  workflow: Workflow,
  found: ProblemCollector = collectProblems(),
): CompiledWorkflow | undefined {
  const { spec } = workflow;
  const known = faultless.get(spec);
  // Only what is frozen cannot have been edited in between.
  if (known !== undefined && Object.isFrozen(spec) && jsonEquals(known.identity, identityOf(workflow))) return known;
  const compiled = compileAnew(workflow, found);
  // Documents that are only checked may hold anything here, and what refuses them may have been reported before.
  if (compiled !== undefined && found.problems.length === 0 && isObject(spec)) faultless.set(spec, compiled);
  return compiled;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** What expressions can say of the workflow itself. */
const identityOf = ({ metadata }: Workflow): Identity => {
  const { name = "", namespace = "", uid = "", labels = {} } = metadata;
  return { name, namespace, uid, labels };
};

function compileAnew(workflow: Workflow, found: ProblemCollector): CompiledWorkflow | undefined {
  const report = found.error;
  const errorsBefore = countErrors(found);
  const { spec } = workflow;
  const sources = stepSources(spec);
  const selector = spec.selector?.matchLabels ?? {};
  const { name, namespace } = workflow.metadata;
  checkParams(spec, report);
  checkSteps(sources, report);
  checkReserved(spec, sources, report);
  checkStepBodies(spec, sources, { name, namespace, selector }, report);
  const graphs = buildStepGraphs(sources, report, found.warn);
  const steps = new Map(sources.flatMap((source) => compileStep(source, spec, sources, graphs, report)));
  const outputs = compileOutputs(spec, sources, report);
  const { main, final } = graphs;
  if (countErrors(found) > errorsBefore || main === undefined || final === undefined) return undefined;
  const values = { steps, params: paramValues(spec), identity: identityOf(workflow) };
  return { ...values, outputs, selector, expiring: expiringSteps(spec), plan: planOf(spec, { main, final }, values) };
}

const countErrors = ({ problems }: ProblemCollector): number =>
  problems.reduce((count, problem) => (problem.severity === "error" ? count + 1 : count), 0);

/** A step without exactly one type is reported elsewhere and left out here. */
function compileStep(
  source: StepSource,
  spec: WorkflowSpec,
  sources: readonly StepSource[],
  graphs: StepGraphs,
  report: Report,
): readonly (readonly [string, CompiledStep])[] {
  const { key, step, path, final, written } = source;
  const type = stepType(step);
  if (type === undefined) return [];
  const scope = { spec, sources, final, visible: () => visibleSteps(source, graphs), user: `step "${key}"` };
  const bare = (text: string | undefined, site: Site, ...at: readonly string[]): CompiledExpression | undefined =>
    text === undefined ? undefined : compileBare(text, { ...scope, site }, [...path, ...at], report);
  const until = step.wait?.until;
  const compiled: CompiledStep = {
    key,
    final,
    type,
    step,
    hash: lazily(() => definitionHash(written)),
    when: bare(step.when, "gate", "when"),
    body: compileStepBody(source, { ...scope, site: "body" }, report),
    until: until === undefined || isInstant(until) ? undefined : bare(until, "body", "wait", "until"),
    outputs: Object.entries(step.outputs ?? {}).map(
      ([name, output]): CompiledOutput => ({
        name,
        expression: bare(output.expression, "output", "outputs", name, "expression"),
        default: output.default,
      }),
    ),
    retryWhen: bare(step.retry?.expression, "retry", "retry", "expression"),
    completion: compileCompletion(
      step.completion,
      (text, field) => bare(text, "completion", "completion", field),
      (message) => report([...path, "completion"], "invalid-value", message),
    ),
  };
  return [[key, compiled]];
}

const mostHashes = 512;
const longestText = 4096;
const hashes = new Map<string, string>();

/**
 * The same for definitions that differ only in the order of their members. Runs of one workflow have the same steps, so the
 * hashes of short texts are kept: at most 512, all forgotten when there are more.
 */
function definitionHash(written: JsonValue): string {
  const text = JSON.stringify(written);
  const known = hashes.get(text);
  if (known !== undefined) return known;
  const hash = hashName([canonicalJson(written)], 16);
  if (text.length > longestText) return hash;
  if (hashes.size >= mostHashes) hashes.clear();
  hashes.set(text, hash);
  return hash;
}

/** Most steps of most passes never need the value. */
function lazily(compute: () => string): () => string {
  let value: string | undefined;
  return () => (value ??= compute());
}

/** Timers have no body: their only expression stands in `until`. */
function compileStepBody(
  { step, path }: StepSource,
  scope: ExpressionScope,
  report: Report,
): CompiledTemplate | undefined {
  const type = stepType(step);
  if (type === undefined || type === "wait") return undefined;
  const body = step[type];
  return body === undefined ? undefined : compileBody(body, scope, [...path, type], report);
}

/** Free-form in the schema because it is a word or an object. */
function compileCompletion(
  completion: JsonValue | undefined,
  bare: (text: string, field: string) => CompiledExpression | undefined,
  refuse: (message: string) => void,
): CompiledCompletion | undefined {
  if (completion === undefined) return undefined;
  if (completion === "Created" || completion === "Ready") return { is: completion };
  const { success, failure, ...rest } = isJsonObject(completion) ? completion : { other: true };
  const texts = [success, failure].filter((text) => text !== undefined);
  if (Object.keys(rest).length > 0 || texts.length === 0 || texts.some((text) => typeof text !== "string")) {
    refuse(`expected Created, Ready or expressions {success, failure}, found ${JSON.stringify(completion)}`);
    return undefined;
  }
  const compiled = (text: JsonValue | undefined, field: string) =>
    typeof text === "string" ? bare(text, field) : undefined;
  return { is: "expressions", success: compiled(success, "success"), failure: compiled(failure, "failure") };
}

/** Outputs of the workflow may use every main step, and nothing of the final ones: they are made before those end. */
function compileOutputs(spec: WorkflowSpec, sources: readonly StepSource[], report: Report): readonly WorkflowOutput[] {
  const main = new Set(sources.filter((source) => !source.final).map((source) => source.key));
  const scope = { spec, sources, final: false, visible: () => main, user: "the workflow", site: "result" } as const;
  return Object.entries(spec.outputs ?? {}).flatMap(([name, text]) => {
    const expression = compileBare(text, scope, ["spec", "outputs", name], report);
    return expression === undefined ? [] : [{ name, expression }];
  });
}
