import { defined, err, type Instant, type Millis, type Result } from "#lib/base/index.ts";
import {
  buildPlan,
  exponential,
  formatGraphProblem,
  type Gate,
  type GateResult,
  type GateScope,
  isTerminal,
  neighbours,
  type NodeSpec,
  type Plan,
  type PlanStep,
  planStep,
  reasons,
  type RunState,
  type StepState,
  stepState,
} from "#engine/index.ts";
import type { Mode, Step, VelaWorkflow } from "../app.ts";
import { groupType } from "../parse.ts";
import type { WorkflowSettings } from "./delays.ts";
import { messages } from "../messages.ts";
import { stepReasons } from "./status.ts";

// A workflow as an engine plan. StepByStep is a chain; in DAG mode edges are `dependsOn`, inputs and the steps that a
// condition reads. Every rule about `if` is in a gate; conditions are evaluated before and given as decisions.

export type Decision =
  | { readonly kind: "run" }
  | { readonly kind: "skip"; readonly message: string }
  /** Not decided: an input is missing. */
  | { readonly kind: "pending"; readonly message: string };

export interface PlanInput {
  readonly workflow: VelaWorkflow;
  readonly settings: WorkflowSettings;
  /** Steps that the condition of a step reads, by its name. */
  readonly references: ReadonlyMap<string, readonly string[]>;
}

/** What changes from call to call. */
export interface Flags {
  /** A person terminated the run. */
  readonly isTerminated: boolean;
  /** By id. */
  readonly decisions: ReadonlyMap<string, Decision>;
  /** Pause before the next attempt of a step that fails now, by id. */
  readonly delays: ReadonlyMap<string, Millis>;
}

export interface Place {
  readonly id: string;
  readonly step: Step;
  /** Of a sub-step. */
  readonly group?: Step;
  /** The list that the step is in. */
  readonly siblings: readonly Step[];
  readonly mode: Mode;
}

export const isGroup = (step: Step): boolean => step.type === groupType;
export const alwaysRuns = ({ if: condition }: Step): boolean => condition?.trim() === "always";

/** All steps with their engine ids, groups before their sub-steps. */
export function placesOf({ steps, modes }: VelaWorkflow): readonly Place[] {
  return steps.flatMap((step): readonly Place[] => [
    { id: step.name, step, siblings: steps, mode: modes.steps },
    ...step.subSteps.map((sub) => ({
      id: `${step.name}/${sub.name}`,
      step: sub,
      group: step,
      siblings: step.subSteps,
      mode: step.mode ?? modes.subSteps,
    })),
  ]);
}

/** Waits for a resume. */
const never: Millis = 100 * 365 * 86_400_000;

export function planOf(input: PlanInput, flags: Flags): Result<Plan, string> {
  const places = placesOf(input.workflow);
  const { steps, modes } = input.workflow;
  return listPlan({ ...input, ...flags, places }, steps, modes.steps);
}

type Sources = PlanInput & Flags & { readonly places: readonly Place[] };

function listPlan(from: Sources, steps: readonly Step[], mode: Mode, group?: Step): Result<Plan, string> {
  const planned: PlanStep[] = [];
  for (const step of steps) {
    const id = group === undefined ? step.name : `${group.name}/${step.name}`;
    let inner: Plan | undefined;
    if (isGroup(step) && step.subSteps.length > 0) {
      const built = listPlan(from, step.subSteps, step.mode ?? from.workflow.modes.subSteps, step);
      if (!built.ok) return built;
      inner = built.value;
    }
    planned.push(plannedStep(from, step, id, inner));
  }
  const nodesWith = (inner: boolean) =>
    steps.map((step, index) => ({ id: step.name, dependsOn: dependenciesOf(from, steps, index, mode, inner) }));
  // What a sub-step needs from outside of its group delays only the sub-step, but must not lead in a circle.
  const whole = built(nodesWith(true), planned);
  if (!whole.ok) return whole;
  const late = mode === "StepByStep" ? lateDependency(steps) : undefined;
  if (late !== undefined) return err(late);
  return built(nodesWith(false), planned);
}

function built(nodes: readonly NodeSpec[], steps: readonly PlanStep[]): Result<Plan, string> {
  const plan = buildPlan(nodes, steps);
  return plan.ok ? plan : err(plan.error.map(formatGraphProblem).join("; "));
}

function plannedStep(from: Sources, step: Step, id: string, group: Plan | undefined): PlanStep {
  const deadline = deadlineOf(step, from.settings);
  return planStep({
    id: step.name,
    kind: isGroup(step) ? "group" : "work",
    gate: gateOf(from, id),
    retry: {
      limit: retryLimit(step, from.settings),
      delay: (failures) => retryDelay(from, step, id, failures),
    },
    ...defined({ deadline, group }),
  });
}

function deadlineOf(step: Step, settings: WorkflowSettings): Millis | undefined {
  const deadline = step.timeout ?? (isGroup(step) ? undefined : settings.defaultStepTimeout);
  return deadline === undefined || deadline <= 0 ? undefined : deadline;
}

/** Deadlines strike in a run that a person suspended, too. `next` is the nearest that has not. */
export function strikeDeadlines(
  workflow: VelaWorkflow,
  settings: WorkflowSettings,
  run: RunState,
  now: Instant,
): { readonly run: RunState; readonly next?: Instant } {
  const steps = { ...run.steps };
  let next = Number.POSITIVE_INFINITY;
  const struck = new Set<Step>();
  for (const { id, step, group } of placesOf(workflow)) {
    const state = stepState(run, id);
    const deadline = deadlineOf(step, settings);
    const isUnderWay = state.startedAt !== undefined && !isTerminal(state.phase);
    const at = isUnderWay && deadline !== undefined ? (state.startedAt ?? now) + deadline : Number.POSITIVE_INFINITY;
    const isOver = at <= now || (group !== undefined && struck.has(group) && !isTerminal(state.phase));
    if (!isOver) {
      next = Math.min(next, at);
      continue;
    }
    struck.add(step);
    const { message: _message, ...rest } = state;
    steps[id] = { ...rest, phase: "Failed", reason: reasons.stepDeadline };
  }
  return { run: { ...run, steps }, ...(Number.isFinite(next) ? { next } : {}) };
}

/** Retries after which a step has failed for good, or suspends the run. */
export const retriesOf = (step: Step, settings: WorkflowSettings): number =>
  step.retry?.limit ?? settings.maxErrorRetries;

const retryLimit = (step: Step, settings: WorkflowSettings): number =>
  settings.suspendOnFailure ? Number.MAX_SAFE_INTEGER : retriesOf(step, settings);

function retryDelay({ settings, delays }: Sources, step: Step, id: string, failures: number): Millis {
  if (settings.suspendOnFailure && failures > retriesOf(step, settings)) return never;
  const backoff = step.retry?.backoff;
  if (backoff === undefined) return delays.get(id) ?? 1_000;
  return exponential(failures, { base: backoff.duration, factor: backoff.factor, cap: backoff.cap });
}

function lateDependency(steps: readonly Step[]): string | undefined {
  for (const [index, step] of steps.entries()) {
    const late = step.dependsOn.find((name) => steps.findIndex((other) => other.name === name) > index);
    if (late !== undefined) return `step "${step.name}" depends on "${late}", which comes later in a StepByStep list`;
  }
  return undefined;
}

/** Names of steps of the same list that come before. Steps elsewhere count as the group that holds them. */
function dependenciesOf(
  from: Sources,
  steps: readonly Step[],
  index: number,
  mode: Mode,
  inner: boolean,
): readonly string[] {
  const step = steps[index];
  if (step === undefined) return [];
  if (mode === "StepByStep") return steps.slice(Math.max(0, index - 1), index).map(({ name }) => name);
  const found = new Set<string>();
  for (const each of [step, ...(inner ? step.subSteps : [])]) {
    for (const name of neededBy(from, each)) {
      const place = from.places.find((other) => other.step.name === name);
      const local = place === undefined ? undefined : nameWithin(place, steps);
      if (local !== undefined && local !== step.name) found.add(local);
    }
  }
  return [...found];
}

const nameWithin = (place: Place, steps: readonly Step[]): string | undefined => {
  if (steps.some(({ name }) => name === place.step.name)) return place.step.name;
  return steps.some(({ name }) => name === place.group?.name) ? place.group?.name : undefined;
};

type Needs = Pick<Sources, "places" | "references" | "workflow">;

/** The first step outside of its group that a sub-step waits for. */
export function awaitedOutside(from: Needs, place: Place, stateOf: StateOf): string | undefined {
  const { group } = place;
  if (group === undefined || from.workflow.modes.steps !== "DAG") return undefined;
  return neededBy(from, place.step).find((name) => {
    const other = from.places.find(({ step }) => step.name === name);
    return other !== undefined && other.group !== group && other.step !== group && !isTerminal(stateOf(other.id).phase);
  });
}

type StateOf = (id: string) => { readonly phase: StepState["phase"] };

/** Steps that must be settled before: dependencies, producers of inputs, and earlier steps that the condition reads. */
function neededBy(from: Needs, step: Step): readonly string[] {
  const order = from.places.map((place) => place.step.name);
  const at = order.indexOf(step.name);
  const read = (from.references.get(step.name) ?? []).filter((name) => order.indexOf(name) < at);
  return [...step.dependsOn, ...producersOf(from.places, step), ...read];
}

/** Steps with an output that the step takes as input. */
export function producersOf(places: readonly Place[], { name, inputs }: Step): readonly string[] {
  return inputs.flatMap(({ from }) => {
    const producers = places.filter(
      ({ step }) =>
        step.name !== name && step.outputs.some((output) => from === output.name || from.startsWith(`${output.name}.`)),
    );
    return producers.map(({ step }) => step.name);
  });
}

/** The proposal's order: terminate first, then what failed before, then missing inputs, then the condition. */
function gateOf(from: Sources, id: string): Gate {
  const place = from.places.find((each) => each.id === id);
  return (scope) => {
    if (place === undefined) return { run: true };
    const { step } = place;
    const isWaiting = awaitedOutside(from, place, (other) => scope.state(other)) !== undefined;
    if (isStopped(from, scope) && !alwaysRuns(step)) return { skip: "RunFailing", message: messages.stopped };
    if (isWaiting) return { wait: true };
    if (step.if === undefined && !from.settings.suspendOnFailure) {
      const refused = defaultGate(from, place, scope);
      if (refused !== undefined) return refused;
    }
    const decision = from.decisions.get(id);
    if (decision === undefined) return needsDecision(step) ? { wait: true } : { run: true };
    if (decision.kind === "pending") return { wait: true };
    return decision.kind === "run" ? { run: true } : { skip: "ConditionFalse", message: decision.message };
  };
}

export const needsDecision = (step: Step): boolean =>
  step.inputs.length > 0 || (step.if !== undefined && !alwaysRuns(step));

/** A person's terminate, or a step that broke. */
const isStopped = ({ isTerminated, places }: Sources, scope: GateScope): boolean =>
  isTerminated || places.some(({ id }) => isBroken(scope.state(id)));

const isBroken = ({ phase, reason }: { readonly phase: string; readonly reason?: string }): boolean =>
  phase === "Failed" && reason === stepReasons.terminate;

/** Of a step without a condition. */
function defaultGate({ places }: Sources, place: Place, scope: GateScope): GateResult | undefined {
  const { step, siblings, mode } = place;
  const stateOf = (name: string) => {
    const found = places.find((each) => each.step.name === name);
    return found === undefined ? undefined : outcomeOf(places, found, (id) => scope.state(id));
  };
  if (step.dependsOn.length > 0) {
    for (const name of ancestors(places, step)) {
      const outcome = stateOf(name);
      if (outcome !== undefined && outcome !== "succeeded") return skipped(name, outcome);
    }
    return undefined;
  }
  if (mode === "DAG") return undefined;
  for (const earlier of siblings.slice(0, siblings.indexOf(step))) {
    const outcome = stateOf(earlier.name);
    if (outcome === "failed" || outcome === "pending") return skipped(earlier.name, outcome);
  }
  return undefined;
}

const skipped = (name: string, outcome: string): GateResult => ({
  skip: outcome === "skipped" ? "ConditionFalse" : "DependencyFailed",
  message: messages.dependencyNotSucceeded(name, outcome),
});

type Settled = "succeeded" | "skipped" | "failed" | "pending";

/** A group whose steps are all skipped is skipped. */
function outcomeOf(places: readonly Place[], place: Place, stateOf: StateOf): Settled {
  const { phase } = stateOf(place.id);
  if (!isTerminal(phase)) return "pending";
  const inner = places.filter(({ group }) => group === place.step);
  if (phase !== "Failed" && inner.length > 0 && inner.every(({ id }) => stateOf(id).phase === "Skipped"))
    return "skipped";
  if (phase === "Succeeded") return "succeeded";
  return phase === "Skipped" ? "skipped" : "failed";
}

/** Names of all transitive dependencies. */
function ancestors(places: readonly Place[], step: Step): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = ({ dependsOn }: Step): void => {
    for (const name of dependsOn) {
      if (found.has(name)) continue;
      found.add(name);
      const next = places.find((place) => place.step.name === name);
      if (next !== undefined) visit(next.step);
    }
  };
  visit(step);
  return found;
}

/** Pending steps whose graph predecessors are settled: their gates are asked next. */
export function askable(from: Needs, plan: Plan, run: RunState): readonly Place[] {
  return from.places.filter((place) => {
    const { id, step, group } = place;
    if (stepState(run, id).phase !== "Pending") return false;
    if (awaitedOutside(from, place, (other) => stepState(run, other)) !== undefined) return false;
    if (group !== undefined && stepState(run, group.name).phase !== "Running") return false;
    const inner = group === undefined ? plan : plan.steps.find((each) => each.id === group.name)?.group;
    const node = inner?.graph.nodeById.get(step.name);
    if (inner === undefined || node === undefined) return false;
    return [...neighbours(inner.graph.predecessors, node)].every((before) => {
      const name = inner.graph.ids[before] ?? "";
      return isTerminal(stepState(run, group === undefined ? name : `${group.name}/${name}`).phase);
    });
  });
}
