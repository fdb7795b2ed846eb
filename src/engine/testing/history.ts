import {
  type Advance,
  advance,
  type ChildState,
  createRunCache,
  type Fact,
  isTerminal,
  newRun,
  type Plan,
  type PlanStep,
  type RunState,
  type StepState,
} from "../index.ts";
import { attemptsOf, decodePhases, itemPhase } from "../items.ts";
import { factOf, type Turn } from "./arbitraries.ts";

/** One call of `advance` with everything that went in and came out. */
export interface Call {
  readonly before: RunState;
  readonly facts: readonly Fact[];
  readonly now: number;
  readonly result: Advance;
}

/** Plays turns against a run, as a reconciler that is called once per turn. The cache is given along, as in earnest. */
export function play(plan: Plan, script: readonly Turn[], from: RunState = newRun): Call[] {
  const cache = createRunCache();
  const calls: Call[] = [];
  let now = 1000;
  let run = from;
  for (const turn of [{ after: 0, moves: [] }, ...script]) {
    now += turn.after;
    const facts = turn.moves.flatMap((move) => factOf(move, run, now) ?? []);
    const result = advance(plan, run, facts, now, cache);
    calls.push({ before: run, facts, now, result });
    run = result.run;
  }
  return calls;
}

/** Every step of a plan by full id, with what it depends on (barriers left as they are). */
export function stepsOf(
  plan: Plan,
  prefix = "",
): Map<string, { step: PlanStep; after: string[]; top: boolean; final: boolean }> {
  const found = new Map<string, { step: PlanStep; after: string[]; top: boolean; final: boolean }>();
  for (const [node, step] of plan.steps.entries()) {
    const { offsets, targets } = plan.graph.predecessors;
    const after = [...targets.subarray(offsets[node], offsets[node + 1])].map((n) => `${prefix}${plan.graph.ids[n]}`);
    found.set(`${prefix}${step.id}`, { step, after, top: prefix === "", final: false });
    if (step.group !== undefined) for (const entry of stepsOf(step.group, `${prefix}${step.id}/`)) found.set(...entry);
  }
  if (plan.final !== undefined) {
    for (const [id, entry] of stepsOf(plan.final, prefix)) found.set(id, { ...entry, final: true });
  }
  return found;
}

/** How children end when the world is fair: by step and attempt, so that the order of calls cannot matter. */
export type Fate = (step: string, attempt: number) => "succeeded" | "failed";

export const allSucceed: Fate = () => "succeeded";

/**
 * Brings a run to its end with a fair world: every child answers, every approval is given, every grant comes, suspension is
 * lifted, time passes. Throws when the run does not end in a number of calls that is far beyond what it may need.
 */
export function finish(plan: Plan, from: RunState, start: number, fate: Fate = allSucceed): Call[] {
  const cache = createRunCache();
  const calls: Call[] = [];
  let run = from;
  let now = start;
  for (let call = 0; call < 500; call++) {
    const facts = fairFacts(plan, run, fate);
    const result = advance(plan, run, facts, now, cache);
    calls.push({ before: run, facts, now, result });
    if (isTerminal(result.run.phase)) return calls;
    const isStuck = result.run === run;
    run = result.run;
    now = isStuck ? Math.max(now + 1, result.wakeAt ?? now) : now + 1;
  }
  throw new Error(`the run does not end: ${JSON.stringify(run)}`);
}

function fairFacts(plan: Plan, run: RunState, fate: Fate): Fact[] {
  const facts: Fact[] = run.suspendRequested === true ? [{ kind: "action", action: "resume" }] : [];
  for (const [step, { step: spec }] of stepsOf(plan)) {
    const state = run.steps[step];
    if (state === undefined) continue;
    const { phase, attempt } = state;
    if (phase === "Waiting") facts.push({ kind: "grant", step, granted: true });
    if (phase === "Suspended") facts.push({ kind: "action", action: "approve", step });
    if (spec.kind === "group") continue;
    if (spec.kind === "fan") {
      facts.push(...fairItems(step, state, fate));
      continue;
    }
    if (phase === "Cancelling") facts.push({ kind: "child", step, attempt, state: { is: "gone" } });
    if (phase === "Starting") facts.push({ kind: "child", step, attempt, state: { is: "alive" } });
    if (phase === "Running") {
      const end = fate(step, attempt);
      facts.push({
        kind: "child",
        step,
        attempt,
        state: end === "failed" ? { is: "failed", reason: "Error", retryable: true } : { is: "succeeded" },
      });
    }
  }
  return facts;
}

/** As for steps: what starts is seen, what runs ends, what is cancelled goes. */
function fairItems(step: string, { attempt, items }: StepState, fate: Fate): Fact[] {
  if (items === undefined) return [];
  const phases = decodePhases(items.states, items.total);
  const attempts = attemptsOf(items, phases);
  return [...phases.entries()].flatMap(([index, phase]): Fact[] => {
    const tried = attempts[index] ?? 0;
    const about = (state: ChildState): Fact => ({
      kind: "child",
      step,
      attempt,
      item: { index, attempt: tried },
      state,
    });
    if (phase === itemPhase.cancelling) return [about({ is: "gone" })];
    if (phase === itemPhase.starting) return [about({ is: "alive" })];
    if (phase === itemPhase.pending || phase === itemPhase.waiting)
      return [{ kind: "grant", step, attempt, item: { index, attempt: tried }, granted: true }];
    if (phase !== itemPhase.running) return [];
    const end = fate(itemName(step, index), tried);
    return [about(end === "failed" ? { is: "failed", reason: "Error", retryable: true } : { is: "succeeded" })];
  });
}

/** How an item is called where steps and items are mixed. */
export const itemName = (step: string, index: number): string => `${step}[${index}]`;

/** A run without anything that depends on when things happened or how often they were tried. */
export const timeless = (run: RunState): unknown => ({
  phase: run.phase,
  closing: run.closing,
  steps: Object.fromEntries(
    Object.entries(run.steps)
      .filter(([, state]) => state.phase !== "Pending")
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { phase, reason, outputs, items }]) => [
        id,
        { phase, reason, outputs, items: phase === "Skipped" ? undefined : items?.states },
      ]),
  ),
});
