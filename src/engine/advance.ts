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
  /** The same object if nothing changed. */
  readonly run: RunState;
  /** Everything the run owes, not only new effects. */
  readonly effects: readonly Effect[];
  /** When time alone changes the run next. */
  readonly wakeAt?: Instant;
  /** Stale, unknown and illegal facts, for a metric. */
  readonly ignored: number;
  /** Changed steps in topological order, for `diff`; absent after a retry. */
  readonly changes?: readonly StepChange[];
}

/** Derived state between calls about one run. It can be lost and is not used for another plan or run. */
export interface RunCache {
  ledger?: Ledger | undefined;
  /** The steps may be changed in place, which saves a copy. */
  readonly inPlace?: boolean;
}

/** `inPlace` is for callers that do not use a run after passing it to `advance`. */
export const createRunCache = (options: Pick<RunCache, "inPlace"> = {}): RunCache => ({ ...options });

/**
 * The next state of a run. Pure (except for the cache), idempotent, and independent of the order of facts. O(V + E)
 * without a cache, else O(changes) plus one copy of the steps. Gates and retry policies must be pure, too; their
 * exceptions are passed on.
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

/** Removed from the cache, so that an exception leaves none behind. */
function takeLedger(plan: Plan, run: RunState, now: Instant, cache?: RunCache): Ledger {
  const kept = cache?.ledger;
  if (cache !== undefined) cache.ledger = undefined;
  if (kept === undefined || kept.run !== run || kept.layout.plan !== plan) return openLedger(plan, run, now);
  kept.now = now;
  return kept;
}

const isHeld = ({ layout, run }: Ledger): boolean =>
  layout.plan.policy.held !== undefined && run.startedAt === undefined && run.closing === undefined;

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
