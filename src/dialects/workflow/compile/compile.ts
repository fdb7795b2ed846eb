import { atOnce, isJsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { Workflow, WorkflowSpec, WorkflowStep } from "../kinds.ts";
import { collectProblems, type ProblemCollector, type Report } from "#kernel/dialect/index.ts";
import { checkArtifactCount, compileInputs, compileLeaves } from "./artifacts.ts";
import type {
  CompiledCompletion,
  CompiledConcurrency,
  CompiledOutput,
  CompiledStep,
  CompiledWorkflow,
  Identity,
  WorkflowOutput,
} from "./compiled.ts";
import { type Definition, Definitions } from "./definitions.ts";
import { expiringSteps } from "./expiring.ts";
import {
  type CompiledExpression,
  type CompiledTemplate,
  compileBare,
  compileBody,
  type ExpressionScope,
  type Site,
} from "./expressions.ts";
import { compileCache } from "./cache.ts";
import { compileForEach } from "./for-each.ts";
import { checkJobs } from "./job-rules.ts";
import { hasNamedLocks } from "./locks.ts";
import { checkParams, paramValues } from "./params.ts";
import { planOf } from "./plan.ts";
import { checkNotifications } from "../notify/rules.ts";
import { scheduledAt } from "../scheduled-at.ts";
import { secretPlaces } from "./secret-params.ts";
import { checkReserved, checkStepCount, checkSteps, stepsByName } from "./shape.ts";
import { buildStepGraphs, type StepGraphs, visibleTo } from "./step-graph.ts";
import { checkStepBodies, isInstant } from "./step-rules.ts";
import { type StepSource, stepSources, type StepType, stepType } from "./step-source.ts";
import { checkTemplateRef } from "./template-ref.ts";

/**
 * Faultless workflows by spec: the embedded server passes its frozen objects on, so the controller finds what admission
 * compiled. Weak. Workflows with warnings are compiled again to repeat them.
 */
const faultless = new WeakMap<WorkflowSpec, CompiledWorkflow>();

const definitions = new Definitions();

/** Faultless definitions that `compileAhead` has made, and for which object. Weak. */
const ready = new WeakMap<WorkflowSpec, { readonly definition: Definition; readonly metadata: Workflow["metadata"] }>();

/** Compiles a large workflow in steps; `compileWorkflow` of the same object then takes the result. */
export function* compileAhead(workflow: Workflow): Generator<undefined, void> {
  const found = collectProblems();
  const definition = yield* define(workflow, found);
  if (definition === undefined || found.problems.length > 0) return;
  ready.set(workflow.spec, { definition, metadata: workflow.metadata });
}

/**
 * Validates a whole workflow and prepares it to run. Reports everything wrong; undefined if there was an error, or if
 * its steps come from a template that was not read. Pure and deterministic. The document must have passed the schema,
 * whose types are relied on.
 */
export function compileWorkflow(
  workflow: Workflow,
  found: ProblemCollector = collectProblems(),
): CompiledWorkflow | undefined {
  const { spec } = workflow;
  const known = faultless.get(spec);
  const identity = identityOf(workflow);
  // Only frozen objects cannot have been changed.
  if (known !== undefined && Object.isFrozen(spec) && jsonEquals(known.identity, identity)) return known;
  const ahead = ready.get(spec);
  if (ahead?.metadata === workflow.metadata) {
    const compiled = bind(ahead.definition, spec, identity);
    faultless.set(spec, compiled);
    return compiled;
  }
  const text = JSON.stringify(spec) ?? "";
  const key = `${placeOf(identity, text)}\n${text}`;
  const definition = definitions.get(key, () => defineFaultless(workflow, text)) ?? atOnce(define(workflow, found));
  if (definition === undefined) return undefined;
  const compiled = bind(definition, spec, identity);
  // Documents that are only linted may be of any form, which was reported before.
  if (found.problems.length === 0 && isObject(spec)) {
    faultless.set(spec, compiled);
    definitions.see(key);
  }
  return compiled;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Empty texts for unknown values: a file has no uid. */
const identityOf = ({ metadata }: Workflow): Identity => {
  const { name = "", namespace = "", uid = "", labels = {}, annotations } = metadata;
  return { name, namespace, uid, labels, scheduledAt: annotations?.[scheduledAt] ?? "" };
};

/** Checks also depend on namespace and name: children stay in the namespace and must not refer back. */
const placeOf = ({ namespace, name }: Identity, spec: string): string =>
  spec.includes('"externalRef"') ? `${namespace}/${name}` : namespace;

/** From a copy, so that later edits of the caller do not matter. */
function defineFaultless(workflow: Workflow, spec: string): Definition | undefined {
  const found = collectProblems();
  const copy = { ...workflow, spec: JSON.parse(spec) as WorkflowSpec };
  const definition = atOnce(define(copy, found));
  return found.problems.length === 0 ? definition : undefined;
}

/** The definition as this workflow runs it. */
function bind(definition: Definition, spec: WorkflowSpec, identity: Identity): CompiledWorkflow {
  const { steps, graphs, outputs, concurrency, params, expiring, selector } = definition;
  const plan = planOf(spec, graphs, { steps, params, identity });
  return { spec, steps, params, identity, outputs, concurrency, selector, expiring, plan };
}

function* define(workflow: Workflow, found: ProblemCollector): Generator<undefined, Definition | undefined> {
  const report = found.error;
  const errorsBefore = countErrors(found);
  const { spec } = workflow;
  if (spec.templateRef !== undefined) {
    checkTemplateRef(spec, report);
    return undefined;
  }
  const sources = stepSources(spec);
  if (!checkStepCount(sources.length, report)) return undefined;
  const selector = spec.selector?.matchLabels ?? {};
  const { name, namespace } = workflow.metadata;
  checkParams(spec, report);
  checkSteps(sources, report);
  checkReserved(spec, sources, report);
  checkNotifications(spec, report);
  checkStepBodies(spec, sources, { name, namespace, selector }, report);
  checkJobs(sources, found);
  checkArtifactCount(sources, report);
  yield;
  const graphs = yield* buildStepGraphs(sources, report, found.warn);
  yield;
  const named = stepsByName(sources);
  const steps = new Map(sources.flatMap((source) => compileStep(source, spec, named, graphs, report)));
  const outputs = compileOutputs(spec, named, report);
  const concurrency = compileConcurrency(spec, named, report);
  const { main, final } = graphs;
  if (countErrors(found) > errorsBefore || main === undefined || final === undefined) return undefined;
  return {
    steps,
    graphs: { main: main.graph, final: final.graph },
    outputs,
    concurrency,
    params: paramValues(spec),
    expiring: expiringSteps(sources),
    selector,
  };
}

const countErrors = ({ problems }: ProblemCollector): number =>
  problems.reduce((count, problem) => (problem.severity === "error" ? count + 1 : count), 0);

function compileStep(
  source: StepSource,
  spec: WorkflowSpec,
  steps: ReadonlyMap<string, StepSource>,
  graphs: StepGraphs,
  report: Report,
): readonly (readonly [string, CompiledStep])[] {
  const { key, step, path, final, written } = source;
  const type = stepType(step);
  if (type === undefined) return [];
  const scope = {
    spec,
    steps,
    final,
    isVisible: visibleTo(source, graphs),
    user: `step "${key}"`,
    ...localsOf(step),
  };
  const bare = (text: string | undefined, site: Site, ...at: readonly string[]): CompiledExpression | undefined =>
    text === undefined ? undefined : compileBare(text, { ...scope, site }, [...path, ...at], report);
  const until = step.wait?.until;
  const at = [...path, "forEach"];
  const from = compileFrom(source, { ...scope, local: [], site: "body" }, report);
  const compiled: CompiledStep = {
    key,
    final,
    type,
    step,
    hash: lazily(() => definitionHash(written)),
    when: bare(step.when, "gate", "when"),
    body: compileStepBody(source, type, { ...scope, site: "body" }, report),
    until: until === undefined || isInstant(until) ? undefined : bare(until, "body", "wait", "until"),
    outputs: Object.entries(step.outputs ?? {}).map(
      ([name, output]): CompiledOutput => ({
        name,
        expression: bare(output.expression, "output", "outputs", name, "expression"),
        default: output.default,
      }),
    ),
    takes: compileInputs(source, scope, report),
    leaves: compileLeaves(source, report),
    retryWhen: bare(step.retry?.expression, "retry", "retry", "expression"),
    completion: compileCompletion(
      step.completion,
      (text, field) => bare(text, "completion", "completion", field),
      (message) => report([...path, "completion"], "invalid-value", message),
    ),
    forEach:
      step.forEach &&
      compileForEach(step.forEach, { from, when: bare(step.forEach.when, "item", "forEach", "when") }, at, report),
    repeatUntil: bare(step.repeat?.until, "until", "repeat", "until"),
    cache: step.cache && compileCache(step.cache, { ...scope, site: "body" }, [...path, "cache"], report),
    // Named locks are held over all rounds and cannot depend on one.
    locks: hasNamedLocks(step)
      ? compileBody(
          (step.locks ?? []).map(({ name }) => name),
          { ...scope, ...(step.repeat === undefined ? {} : { local: [] }), site: "body" },
          [...path, "locks"],
          report,
        )
      : undefined,
  };
  return [[key, compiled]];
}

/** The list exists before any item. */
const compileFrom = ({ step, path }: StepSource, scope: ExpressionScope, report: Report) =>
  step.forEach?.from === undefined
    ? undefined
    : compileBare(step.forEach.from, scope, [...path, "forEach", "from"], report);

function localsOf({ forEach, repeat }: WorkflowStep): Pick<ExpressionScope, "local" | "axes"> {
  if (repeat !== undefined) return { local: ["iteration"] };
  if (forEach === undefined) return {};
  const { include = [], exclude: _exclude, ...axes } = forEach.matrix ?? {};
  const names = [...Object.keys(axes), ...include.flatMap((members) => Object.keys(members))];
  return { local: ["item", "index"], axes: forEach.matrix === undefined ? undefined : names };
}

/** At most 2 MiB of texts with `longestText`. */
const mostHashes = 512;
const longestText = 4096;
const hashes = new Map<string, string>();

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

/** Most steps of most passes do not need it. */
function lazily<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: compute() }).value;
}

function compileStepBody(
  { step, path }: StepSource,
  type: StepType,
  scope: ExpressionScope,
  report: Report,
): CompiledTemplate | undefined {
  if (type === "wait") return undefined;
  // Of an approval only the question may have expressions.
  if (type === "approval") return compileBody(step.approval?.message ?? "", scope, [...path, type, "message"], report);
  // A child's spec has expressions of its own.
  const withSecrets = { ...scope, isSecretPlace: secretPlaces(type, step) };
  if (type === "workflow")
    return compileBody(step.workflow?.arguments ?? {}, withSecrets, [...path, type, "arguments"], report);
  const body = step[type];
  return body === undefined ? undefined : compileBody(body, withSecrets, [...path, type], report);
}

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

function compileConcurrency(
  { concurrency, ...spec }: WorkflowSpec,
  steps: ReadonlyMap<string, StepSource>,
  report: Report,
): CompiledConcurrency | undefined {
  if (concurrency === undefined) return undefined;
  const user = "the concurrency key";
  const scope = { spec, steps, final: false, isVisible: () => false, user, site: "body" } as const;
  const key = compileBody(concurrency.key, scope, ["spec", "concurrency", "key"], report);
  const { limit: most = 1, onConflict = "Queue" } = concurrency;
  return key === undefined ? undefined : { key, most, onConflict };
}

function compileOutputs(
  spec: WorkflowSpec,
  steps: ReadonlyMap<string, StepSource>,
  report: Report,
): readonly WorkflowOutput[] {
  const main = new Set([...steps.values()].filter((source) => !source.final).map((source) => source.key));
  const scope = {
    spec,
    steps,
    final: false,
    isVisible: (key: string) => main.has(key),
    user: "the workflow",
    site: "result",
  } as const;
  return Object.entries(spec.outputs ?? {}).flatMap(([name, text]) => {
    const expression = compileBare(text, scope, ["spec", "outputs", name], report);
    return expression === undefined ? [] : [{ name, expression }];
  });
}
