import { syncSuspension } from "./acting.ts";
import { amend } from "./amend.ts";
import type { StepChange } from "./diff.ts";
import { owedEffects } from "./effects.ts";
import type { ActionFact, Effect, Fact } from "./facts.ts";
import { shutOut } from "./fan-books.ts";
import { foldFacts } from "./folding.ts";
import { type Ledger, openLedger, sealSteps } from "./ledger.ts";
import { moveAll } from "./moving.ts";
import type { Plan } from "./plan.ts";
import { reset } from "./reset.ts";
import { summarize } from "./rollup.ts";
import { isTerminal, type RunState } from "./run.ts";
import { applyTime, wakeAt } from "./striking.ts";
import type { Instant } from "./values.ts";

export interface Advance {
  /** The next run: the very object that was given when nothing changed, so `!==` tells whether there is something to write. */
  readonly run: RunState;
  /** Everything the run owes the world, not only what is new. */
  readonly effects: readonly Effect[];
  /** The earliest future instant at which time alone changes the run; absent when only facts can. */
  readonly wakeAt?: Instant;
  /** Facts that were stale, unknown or illegal. A number for a metric, not an error. */
  readonly ignored: number;
  /** The steps that are other than in the run that was given, in topological order; absent for one that was retried. Saves `diff` the search. */
  readonly changes?: readonly StepChange[];
}

/**
 * Derived state kept between two calls about the same run, so that a call costs what has changed instead of the size of
 * the plan. Owned by one caller, given to every call about one run. It can be lost at any time, and is not used when the
 * plan or the run is another object than the one the last call left.
 */
export interface RunCache {
  /** Internal to the engine. */
  ledger?: Ledger | undefined;
  /** Whether the steps of the run that is given may become those of the run that is returned, which spares a copy of their record. */
  readonly inPlace?: boolean;
}

/** `inPlace` is for callers who look at no run any more once they have given it to `advance`. */
export const createRunCache = (options: Pick<RunCache, "inPlace"> = {}): RunCache => ({ ...options });

/**
 * The next state of a run, given what was observed. Pure: it depends on its arguments alone, changes none of them (but the
 * cache) and is idempotent; the order of facts means nothing. O(V + E) without a cache; with one O(what changed), plus one
 * copy of the step record if a step changed.
 *
 * Gates and retry policies are called from here and must be pure as well; what they throw is passed on.
 */
export function advance(plan: Plan, run: RunState, facts: readonly Fact[], now: Instant, cache?: RunCache): Advance {
  const { current, rest } = isTerminal(run.phase) ? retried(plan, run, facts) : { current: run, rest: facts };
  if (isTerminal(current.phase)) {
    return { run, effects: [], ignored: rest.filter((fact) => fact.kind === "action").length };
  }
  const ledger = takeLedger(plan, current, now, cache);
  const ignored = rest.length === 0 ? 0 : foldFacts(ledger, rest);
  syncSuspension(ledger);
  if (isHeld(ledger)) {
    wait(ledger);
  } else {
    begin(ledger);
    applyTime(ledger);
    moveAll(ledger);
    conclude(ledger);
  }
  const changes = sealSteps(ledger, cache?.inPlace);
  for (const books of ledger.fans.values()) shutOut(books);
  if (cache !== undefined) cache.ledger = ledger;
  const wake = wakeAt(ledger);
  const effects = owedEffects(ledger);
  return {
    run: ledger.run,
    effects,
    ...(wake === undefined ? {} : { wakeAt: wake }),
    ignored,
    ...(current === run ? { changes } : {}),
  };
}

/** The finished run after the first retry it can follow, and the facts that are left; the run itself when there is none. */
function retried(
  plan: Plan,
  run: RunState,
  facts: readonly Fact[],
): { readonly current: RunState; readonly rest: readonly Fact[] } {
  for (const fact of sortedRetries(facts)) {
    if (fact.number !== undefined && fact.number !== run.number) continue;
    const steps = fact.steps ?? (fact.step === undefined ? undefined : [fact.step]);
    const again = reset(plan, run, steps === undefined ? {} : { steps });
    if (again.ok) return { current: again.value, rest: facts.filter((other) => other !== fact) };
  }
  return { current: run, rest: facts };
}

const sortedRetries = (facts: readonly Fact[]): ActionFact[] =>
  facts
    .filter((fact): fact is ActionFact => fact.kind === "action" && fact.action === "retry")
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Takes the ledger out of the cache if it is about this very run, so that an exception cannot leave a half-done one there. */
function takeLedger(plan: Plan, run: RunState, now: Instant, cache?: RunCache): Ledger {
  const kept = cache?.ledger;
  if (cache !== undefined) cache.ledger = undefined;
  if (kept === undefined || kept.run !== run || kept.layout.plan !== plan) return openLedger(plan, run, now);
  kept.now = now;
  return kept;
}

/** Nothing of it has begun, and nothing is to begin yet. */
const isHeld = ({ layout, run }: Ledger): boolean =>
  layout.plan.policy.held !== undefined && run.startedAt === undefined && run.closing === undefined;

/** A held run is as it was, but for what it is told to wait for. */
function wait(ledger: Ledger): void {
  const { run } = ledger;
  const { reason, message } = ledger.layout.plan.policy.held ?? {};
  const phase = run.suspendedSince === undefined ? "Pending" : "Suspended";
  if (phase === run.phase && reason === run.reason && message === run.message) return;
  ledger.run = amend(run, { phase, reason, message });
}

/** The run's clock starts when it may move for the first time. */
function begin(ledger: Ledger): void {
  if (ledger.run.startedAt !== undefined || ledger.run.suspendedSince !== undefined) return;
  ledger.run = amend(ledger.run, { startedAt: ledger.now });
}

function conclude(ledger: Ledger): void {
  const { run } = ledger;
  const { phase, reason, message } = summarize(ledger);
  if (phase === run.phase && reason === run.reason && message === run.message) return;
  ledger.run = amend(run, { phase, reason, message, finishedAt: isTerminal(phase) ? ledger.now : undefined });
}
