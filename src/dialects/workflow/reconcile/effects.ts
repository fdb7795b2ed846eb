import { inParallel, type Logger, type Millis, messageOf } from "#lib/base/index.ts";
import { type Effect, exponential, type Fact, type WaitReason } from "#engine/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { isApplied, isExecuted, isLetLive } from "../compile/step-source.ts";
import { type ChildReference, Workflow } from "../kinds.ts";
import type { Pass } from "./pass.ts";
import type { Attempt, Executors } from "../steps/executor.ts";
import { attemptOf, type PassState } from "./attempts.ts";
import { itemAttempt } from "./items.ts";
import { effectName, type Memory } from "./memory.ts";
import { factOf } from "./observe.ts";

// Effects follow from the stored state, so a crash repeats them. Names follow from workflow, step and attempt, which
// makes repetition harmless; `performed` only saves requests.

/** Parallel effects, because a fan-out may have 10,000 items. */
const width = 16;
/** An effect that is still owed is repeated after this: its child may have been deleted unseen. */
const repeatAfter: Millis = 30_000;

/** Owed effects that were not just performed. Others are forgotten. */
export function dueEffects(effects: readonly Effect[], memory: Memory, now: number): readonly Effect[] {
  const owed = new Set(effects.map(effectName));
  for (const name of memory.performed.keys()) if (!owed.has(name)) memory.performed.delete(name);
  for (const name of memory.created) if (!owed.has(name)) memory.created.delete(name);
  return effects.filter((effect) => {
    const at = memory.performed.get(effectName(effect));
    // Entries from the future count as due, in case the clock was set back.
    return at === undefined || at > now || now - at >= repeatAfter;
  });
}

export const effectsWake = (effects: readonly Effect[]): Millis | undefined =>
  effects.length === 0 ? undefined : repeatAfter;

export interface Performed {
  readonly facts: readonly Fact[];
  readonly references: ReadonlyMap<string, ChildReference>;
  /** Temporary failures, whose effects are still owed. */
  readonly failures: readonly unknown[];
}

/** Performs effects, a few in parallel. A failure does not stop the others. */
export async function performEffects(
  effects: readonly Effect[],
  state: PassState,
  executors: Executors,
  memory: Memory,
  context: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Performed> {
  const facts: Fact[] = [];
  const references = new Map<string, ChildReference>();
  const failures: unknown[] = [];
  const attempt = async (effect: Effect): Promise<void> => {
    if (context.signal.aborted) return;
    try {
      const shown = await perform(effect, state, executors, memory, context.signal);
      if (shown !== undefined) facts.push(shown.fact);
      if (shown?.reference !== undefined && effect.item === undefined) references.set(effect.step, shown.reference);
    } catch (thrown) {
      context.log.debug("an effect failed, trying again", { step: effect.step, error: messageOf(thrown) });
      failures.push(thrown);
    }
  };
  await inParallel(effects, attempt, width);
  return { facts, references, failures };
}

interface Shown {
  readonly fact: Fact;
  readonly reference?: ChildReference;
}

/** Only what the executor learned at once becomes a fact; the rest is observed. */
async function perform(
  effect: Effect,
  state: PassState,
  executors: Executors,
  memory: Memory,
  signal: AbortSignal,
): Promise<Shown | undefined> {
  const step = state.compiled.steps.get(effect.step);
  if (step === undefined || !isExecuted(step.type)) return undefined;
  const executor = executors[step.type];
  const phase = effect.kind === "start" ? "Starting" : "Cancelling";
  const attempt =
    effect.item === undefined ? attemptOf(state, step) : itemAttempt(state, step, executor, effect.item, phase);
  const name = effectName(effect);
  if (effect.kind === "cancel") {
    await executor.cancel(attempt, effect.graceMs ?? 0, signal);
    memory.performed.set(name, state.now);
    // A deletion causes an event; releasing an object does not.
    const seen = isLetLive(step.step) ? await executor.observe(attempt, signal) : undefined;
    return seen?.is === "child" && seen.state.is !== "alive" ? { fact: factOf(attempt, seen, state) } : undefined;
  }
  const finding = await executor.start(attempt, signal);
  if (finding === undefined) return undefined;
  if (finding.is === "free") return undefined;
  if (finding.is === "refused")
    return { fact: factOf(attempt, finding, state, nextTry(attempt, finding.reason, state, memory)) };
  memory.performed.set(name, state.now);
  memory.refusals.delete(refusedName(attempt));
  // A new child causes an event; an existing object does not.
  const fact = factOf(attempt, finding, state);
  if (isApplied(step.step))
    return { fact, ...(finding.reference === undefined ? {} : { reference: finding.reference }) };
  if (finding.state.is !== "alive" || step.type === "externalRef") return { fact };
  // Only a child in the mirror can be missed later. One found by a read may not be there yet.
  const shown = await executor.observe(attempt, signal);
  if (shown?.is === "child" && shown.state.is === "alive") memory.created.add(name);
  return undefined;
}

const refusedName = ({ step, item }: Attempt): string => (item === undefined ? step.key : `${step.key}[${item.index}]`);

const pauses = { base: 1_000, factor: 2, cap: 60_000 };

/** References and Pods of earlier attempts are watched; everything else is retried with growing pauses. */
function nextTry(attempt: Attempt, reason: WaitReason, { now }: PassState, memory: Memory): number | undefined {
  const { step, item } = attempt;
  if (item === undefined && (step.type === "externalRef" || reason === "Lock")) return undefined;
  const name = refusedName(attempt);
  const tries = (memory.refusals.get(name) ?? 0) + 1;
  memory.refusals.set(name, tries);
  return now + exponential(tries, pauses);
}

/**
 * Performs what the stored run owes and returns when to look again. `isFresh`: this turn stored the version; any other
 * is compared with a live read, because a stale mirror could repeat old starts. `again` requests another turn. Throws
 * the first failure if nothing else was learned.
 */
export async function effectStage(
  pass: Pass,
  state: PassState,
  effects: readonly Effect[],
  isFresh: boolean,
): Promise<{ readonly again: boolean; readonly wake?: Millis | undefined }> {
  const { memory, executors, now, client, workflow, signal, log } = pass;
  const due = dueEffects(effects, memory, now);
  if (due.length === 0) return { again: false, wake: effectsWake(effects) };
  // A stale version may owe what was done long ago.
  if (!isFresh && !(await isNewest(client, workflow, signal))) {
    pass.tally.staleEffectsPrevented();
    return { again: false, wake: staleRetry };
  }
  const { facts, references, failures } = await performEffects(due, state, executors, memory, { signal, log });
  memory.facts = [...memory.facts, ...facts];
  if (references.size > 0) memory.references = new Map([...memory.references, ...references]);
  if (facts.length > 0) return { again: true };
  if (failures.length > 0) throw failures[0];
  return { again: false, wake: effectsWake(effects) };
}

/** In case the mirror's update triggers no pass. */
const staleRetry: Millis = 1_000;

async function isNewest(client: ApiClient, workflow: Stored<Workflow>, signal: AbortSignal): Promise<boolean> {
  const live = await getOrUndefined(client, refTo(Workflow, workflow), signal);
  return live?.metadata.resourceVersion === workflow.metadata.resourceVersion;
}
