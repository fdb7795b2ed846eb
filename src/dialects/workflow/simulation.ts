import { err, type JsonObject, ok, type Problem, type Result } from "#lib/base/index.ts";
import { type ChildState, newRun, type Plan, type PlanStep, type SimulatedAttempt } from "#engine/index.ts";
import { apiVersionOf, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { collectProblems, type Simulation } from "#kernel/dialect/index.ts";
import { templateBeside } from "./beside.ts";
import { compileWorkflow } from "./compile/compile.ts";
import type { CompiledStep, CompiledWorkflow } from "./compile/compiled.ts";
import { outputNames } from "./compile/output-names.ts";
import { isApplied } from "./compile/step-source.ts";
import { evaluateCondition, type RunValues } from "./compile/values.ts";
import type { Workflow, WorkflowSpec } from "./kinds.ts";
import { valuesOf, attemptOf, type PassState } from "./reconcile/attempts.ts";
import { lockNames, writtenLocks } from "./compile/locks.ts";
import { ConcurrencyLimit } from "./locks/kind.ts";
import { specOf, withTemplate } from "./spec-of.ts";
import { childName } from "./child-names.ts";
import { itemsOf, itemValues } from "./compile/for-each.ts";
import { childOf } from "./steps/child.ts";
import type { Attempt } from "./steps/executor.ts";
import { renderJob } from "./steps/job.ts";
import { renderTemplate } from "./steps/template.ts";
import { renderWorkflow } from "./steps/workflow.ts";

/** Simulates a workflow with a template from `beside`, the documents it came with. */
export function simulationOf(
  workflow: Workflow,
  beside: readonly KubeObject[],
): Result<Simulation, readonly Problem[]> {
  const found = collectProblems();
  const spec = resolvedSpec(workflow, beside);
  if (spec === undefined) {
    const name = JSON.stringify(workflow.spec.templateRef?.name);
    found.error(["spec", "templateRef"], "invalid-value", `there is no WorkflowTemplate ${name} among the documents`);
    return err(found.problems);
  }
  const compiled = compileWorkflow({ ...workflow, spec }, found);
  if (compiled === undefined) return err(found.problems);
  return ok({
    plan: withGuesses(compiled.plan, compiled),
    end: (attempt, fails) => endOf(attempt, fails, compiled),
    isCached: (step) => compiled.steps.get(step)?.cache !== undefined,
    manifest: (attempt) => manifestOf(attempt, workflow, compiled),
    locks: (step) =>
      locksAtFirst(compiled, step).map((name) => ({
        name,
        places: placesOf(name, workflow, beside),
      })),
    applies: (step) => isApplied(compiled.steps.get(step)?.step ?? {}),
  });
}

function locksAtFirst(compiled: CompiledWorkflow, key: string): readonly string[] {
  const step = compiled.steps.get(key);
  if (step === undefined) return [];
  const names = lockNames(step, compiled, valuesOf({ compiled, run: newRun }, step.final));
  return names.ok ? names.value : writtenLocks(step.step);
}

/** From a ConcurrencyLimit among the documents, or one. */
function placesOf(name: string, { metadata }: Workflow, beside: readonly KubeObject[]): number {
  const limit = beside.find(
    (object): object is ConcurrencyLimit & KubeObject =>
      object.kind === ConcurrencyLimit.kind &&
      object.apiVersion === apiVersionOf(ConcurrencyLimit) &&
      object.metadata.name === name &&
      object.metadata.namespace === metadata.namespace,
  );
  return limit?.spec.limit ?? 1;
}

/** Like `specOf`, with a template from the documents. */
function resolvedSpec(workflow: Workflow, beside: readonly KubeObject[]): WorkflowSpec | undefined {
  const own = specOf(workflow);
  if (own.templateRef === undefined) return own;
  const template = templateBeside(own.templateRef.name, workflow.metadata.namespace, beside);
  return template === undefined ? undefined : withTemplate(own, template.spec);
}

function withGuesses(plan: Plan, compiled: CompiledWorkflow): Plan {
  const steps = plan.steps.map((step) => guessFor(step, compiled.steps.get(step.id)));
  return { ...plan, steps, ...(plan.final === undefined ? {} : { final: withGuesses(plan.final, compiled) }) };
}

/** One item for an unknown list, now for an unknown time, one approval. */
function guessFor(step: PlanStep, compiled: CompiledStep | undefined): PlanStep {
  const { fan, due } = step;
  if (compiled?.step.approval !== undefined) {
    const outputs = unknownValues(compiled.key, outputNames(compiled.step) ?? []);
    return { ...step, approval: { needed: 1, question: () => ({}), outputs: () => outputs } };
  }
  const { items, when } = compiled?.forEach ?? {};
  const asked = [items, when, compiled?.locks].flatMap((each) => (each && "uses" in each ? each.uses : []));
  if (fan !== undefined && items !== undefined && asked.length > 0) {
    const count: typeof fan.count = (scope) => {
      const known = fan.count(scope);
      return "error" in known ? { count: "uses" in items ? 1 : items.length } : known;
    };
    return { ...step, fan: { ...fan, count } };
  }
  if (due === undefined || (compiled?.until?.uses.length ?? 0) === 0) return step;
  return {
    ...step,
    due: (scope) => {
      const known = due(scope);
      return "error" in known ? { after: 0 } : known;
    },
  };
}

function endOf(attempt: SimulatedAttempt, fails: boolean, compiled: CompiledWorkflow): ChildState {
  const step = compiled.steps.get(attempt.step);
  if (step === undefined) return { is: "succeeded" };
  const values = (): RunValues => {
    const found = valuesOf({ compiled, run: attempt.run }, step.final);
    return step.repeatUntil === undefined ? found : { ...found, local: { iteration: attempt.iteration } };
  };
  if (fails) return failure(attempt, step, compiled, values);
  const outputs = unknownOutputs(step, attempt.item?.index);
  const isOver = step.repeatUntil === undefined || isLastRound(step, attempt, compiled, values());
  return {
    is: "succeeded",
    ...(step.outputs.length === 0 ? {} : { outputs }),
    ...(step.leaves.length === 0 ? {} : { artifacts: unknownArtifacts(step) }),
    ...(isOver ? {} : { again: true }),
  };
}

const unknownOutputs = ({ key, outputs }: CompiledStep, item?: number): JsonObject =>
  unknownValues(
    key,
    outputs.map(({ name }) => name),
    item,
  );

const unknownArtifacts = ({ key, leaves }: CompiledStep): JsonObject =>
  Object.fromEntries(leaves.map(({ name }) => [name, { digest: `<${key}/${name}>`, size: 0 }]));

const unknownValues = (key: string, names: readonly string[], item?: number): JsonObject =>
  Object.fromEntries(
    names.map((name) => [name, `<steps.${key}.outputs.${name}${item === undefined ? "" : `[${item}]`}>`]),
  );

function failure(
  { attempt, item }: SimulatedAttempt,
  { retryWhen }: CompiledStep,
  compiled: CompiledWorkflow,
  values: () => RunValues,
): ChildState {
  const told = { reason: "Error", message: "exit code 1" };
  const state = { is: "failed", ...told, retryable: true } as const;
  if (retryWhen === undefined) return state;
  const failed = { ...told, attempt: item?.attempt ?? attempt, exitCode: 1, outputs: {} };
  const again = evaluateCondition(retryWhen, compiled, values(), failed);
  return { ...state, retryable: again.ok && again.value };
}

/** A loop whose condition uses more than the iteration ends after the first round. */
function isLastRound(
  { repeatUntil }: CompiledStep,
  { iteration }: SimulatedAttempt,
  compiled: CompiledWorkflow,
  values: RunValues,
): boolean {
  if (repeatUntil === undefined) return true;
  const isDone = evaluateCondition(repeatUntil, compiled, values, { result: {}, object: null, outputs: {}, iteration });
  return !isDone.ok || isDone.value;
}

/** Stands for the uid in rendered names. */
const unknownUid = "<uid>";
const unknownHash = "<hash>";

function manifestOf(
  tried: SimulatedAttempt,
  workflow: Workflow,
  compiled: CompiledWorkflow,
): Result<KubeObject, string> | undefined {
  const attempt = attemptFor(tried, workflow, compiled);
  if (attempt === undefined) return undefined;
  const { type } = attempt.step;
  if (type === "workflow") return named(renderWorkflow(attempt), attempt);
  if (type === "template") return named(renderTemplate(attempt), attempt);
  return type === "jobTemplate" || type === "container" ? named(renderJob(attempt), attempt) : undefined;
}

function attemptFor(
  { step: key, attempt: number, item, iteration, run }: SimulatedAttempt,
  workflow: Workflow,
  compiled: CompiledWorkflow,
): Attempt | undefined {
  const step = compiled.steps.get(key);
  if (step === undefined) return undefined;
  const { name = workflow.metadata.generateName ?? "" } = workflow.metadata;
  // Only name and uid are used.
  const metadata = { ...workflow.metadata, name, uid: unknownUid, resourceVersion: "", creationTimestamp: "" };
  const stored: Stored<Workflow> = { ...workflow, metadata };
  const state: PassState = { workflow: stored, compiled, run, now: 0 };
  const ofStep = { ...attemptOf(state, step), number, ...(step.repeatUntil === undefined ? {} : { iteration }) };
  if (item === undefined) return ofStep;
  const items = itemsOf(step, compiled, ofStep.values);
  // An unknown list has one unknown item.
  const value = items.ok ? (items.value[item.index] ?? null) : `<item ${item.index}>`;
  const values = { ...ofStep.values, local: itemValues(item.index, value) };
  return { ...ofStep, number: item.attempt, item: { index: item.index, value }, values };
}

/** The hash of a generated name covers the uid. */
function named(manifest: Result<KubeObject, string>, attempt: Attempt): Result<KubeObject, string> {
  if (!manifest.ok) return manifest;
  const name = childName(childOf(attempt));
  const { metadata } = manifest.value;
  if (metadata.name !== name) return manifest;
  const stem = name.slice(0, name.lastIndexOf("-") + 1);
  return ok({ ...manifest.value, metadata: { ...metadata, name: `${stem}${unknownHash}` } });
}
