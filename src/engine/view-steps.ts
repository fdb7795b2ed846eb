import { neighbours } from "./adjacency.ts";
import { int, item } from "./arrays.ts";
import type { ActionName } from "./facts.ts";
import { type Layout, layoutOf } from "./layout.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { isTerminal, type RunState, type StepState, stepState } from "./run.ts";
import type { Progress, StepView } from "./view.ts";

/** The steps of a run in topological order, final ones last, barriers looked through. O(V + E). */
export function viewSteps(plan: Plan, run: RunState): readonly StepView[] {
  const layout = layoutOf(plan);
  const views: StepView[] = [];
  for (const node of layout.order) {
    if (item(layout.steps, node).kind !== "barrier") views.push(viewStep(layout, run, node));
  }
  return views;
}

/** One step in the words of the engine. A barrier's predecessors stand for the barrier. */
function viewStep(layout: Layout, run: RunState, node: number): StepView {
  const id = item(layout.ids, node);
  const step = item(layout.steps, node);
  const scope = item(layout.scopes, int(layout.scopeOf, node));
  const state = stateAt(layout, run, node);
  const { phase, attempt, reason, message, startedAt, finishedAt, notBefore, attemptAt, outputs, items, iteration } =
    state;
  const dependencies = visiblePredecessors(layout, node);
  return {
    id,
    name: step.id,
    ...(scope.group < 0 ? {} : { group: item(layout.ids, scope.group) }),
    ...(scope.isFinal ? { final: true } : {}),
    phase,
    ...present({ reason, message, startedAt, finishedAt, notBefore, attemptAt, outputs }),
    dependencies: dependencies.map((before) => item(layout.ids, before)),
    waitingFor:
      phase === "Pending"
        ? dependencies
            .filter((before) => !isTerminal(stateAt(layout, run, before).phase))
            .map((n) => item(layout.ids, n))
        : [],
    rank: int(scope.plan.graph.rank, node - scope.base),
    attempt,
    ...(step.kind === "fan" || iteration !== undefined ? {} : { attempts: step.retry.limit + 1 }),
    ...present({ iteration }),
    ...(items === undefined ? {} : { items }),
    logs: [],
    artifacts: [],
    actions: isTerminal(run.phase) ? [] : stepActions(step, state),
  };
}

const stateAt = (layout: Layout, run: RunState, node: number): StepState => stepState(run, item(layout.ids, node));

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function present<T extends object>(fields: T): Present<T> {
  const kept: Present<T> = { ...fields };
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}

/** Predecessors with barriers replaced by theirs, recursively. */
function visiblePredecessors(layout: Layout, node: number): number[] {
  const { plan, base } = item(layout.scopes, int(layout.scopeOf, node));
  const found: number[] = [];
  for (const local of neighbours(plan.graph.predecessors, node - base)) {
    const before = base + local;
    if (item(layout.steps, before).kind === "barrier") found.push(...visiblePredecessors(layout, before));
    else found.push(before);
  }
  return found;
}

/** Settled steps of all that people see: groups are counted by their steps, barriers not at all. O(V). */
export function progressOf(plan: Plan, run: RunState): Progress {
  const layout = layoutOf(plan);
  let done = 0;
  let total = 0;
  for (const node of layout.order) {
    const { kind, group } = item(layout.steps, node);
    if (kind === "barrier" || (kind === "group" && group !== undefined && group.steps.length > 0)) continue;
    total++;
    if (isTerminal(stateAt(layout, run, node).phase)) done++;
  }
  return { done, total };
}

/** Retrying a successful run needs named steps. */
export function runActions(run: RunState): readonly ActionName[] {
  if (isTerminal(run.phase)) return ["retry"];
  if (run.closing === "Cancel") return run.forced === true ? [] : ["cancel"];
  if (run.closing === "Deadline") return ["cancel"];
  // Resuming also lifts the document's suspension.
  const isSuspended = run.suspendRequested === true || run.suspendedSince !== undefined;
  return isSuspended ? ["cancel", "resume"] : ["cancel", "suspend"];
}

/** Of an unfinished run. */
export function stepActions(step: PlanStep, { phase }: StepState): readonly ActionName[] {
  switch (phase) {
    case "Pending":
    case "Waiting":
      return ["cancel", "skip"];
    case "Starting":
    case "Running":
      return ["cancel"];
    case "Suspended":
      return step.kind === "approval" ? ["approve", "reject", "cancel"] : ["cancel"];
    case "Cancelling":
    case "Succeeded":
    case "Failed":
    case "Skipped":
    case "Canceled":
      return [];
  }
}
