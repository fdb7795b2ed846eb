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

// Effects are read off the stored state and not kept anywhere: after a crash the same state owes the same effects. Their names follow
// from workflow, step and attempt, so that doing one twice is harmless; `performed` in memory only saves the second try.

/** Effects carried out at the same time, as in workflow.md: a fan-out over 10,000 items must not be 10,000 requests at once. */
const width = 16;
/** What is owed although it was done is done again after this long: its child may have been deleted before anybody saw it. */
const repeatAfter: Millis = 30_000;

/** What is owed and was not done a moment ago. Entries of effects that are no longer owed are forgotten. */
export function dueEffects(effects: readonly Effect[], memory: Memory, now: number): readonly Effect[] {
  const owed = new Set(effects.map(effectName));
  for (const name of memory.performed.keys()) if (!owed.has(name)) memory.performed.delete(name);
  for (const name of memory.created) if (!owed.has(name)) memory.created.delete(name);
  return effects.filter((effect) => {
    const at = memory.performed.get(effectName(effect));
    // A clock that was set back would put it off for as long as it was set back.
    return at === undefined || at > now || now - at >= repeatAfter;
  });
}

/** When owed effects are to be looked at again; undefined when nothing is owed. */
export const effectsWake = (effects: readonly Effect[]): Millis | undefined =>
  effects.length === 0 ? undefined : repeatAfter;

/** What carrying out effects has shown. */
export interface Performed {
  readonly facts: readonly Fact[];
  /** What was applied, by step. */
  readonly references: ReadonlyMap<string, ChildReference>;
  /** Failures that may pass; the effects are still owed. */
  readonly failures: readonly unknown[];
}

/** Carries out effects, a few at a time. A failure of one does not keep the others from being tried. */
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

/** What carrying out one effect has shown. */
interface Shown {
  readonly fact: Fact;
  readonly reference?: ChildReference;
}

/** One effect. Only what its executor learned at once becomes a fact; all else is observed. */
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
    // The end of what is deleted is told by its event; of what is let go, by nobody.
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
  // Nobody tells of an object that was there before; of a child that was just created, its event does.
  const fact = factOf(attempt, finding, state);
  if (isApplied(step.step))
    return { fact, ...(finding.reference === undefined ? {} : { reference: finding.reference }) };
  if (finding.state.is !== "alive" || step.type === "externalRef") return { fact };
  // Only a child that the mirror shows can later be missed in it. One that was found by asking may not have got there yet.
  const shown = await executor.observe(attempt, signal);
  if (shown?.is === "child" && shown.state.is === "alive") memory.created.add(name);
  return undefined;
}

const refusedName = ({ step, item }: Attempt): string => (item === undefined ? step.key : `${step.key}[${item.index}]`);

const pauses = { base: 1_000, factor: 2, cap: 60_000 };

/** A reference is watched, and so are Pods of earlier attempts; everything else is tried again after growing pauses. */
function nextTry(attempt: Attempt, reason: WaitReason, { now }: PassState, memory: Memory): number | undefined {
  const { step, item } = attempt;
  if (item === undefined && (step.type === "externalRef" || reason === "Lock")) return undefined;
  const name = refusedName(attempt);
  const tries = (memory.refusals.get(name) ?? 0) + 1;
  memory.refusals.set(name, tries);
  return now + exponential(tries, pauses);
}

/**
 * Carries out what the stored run owes, and tells when to look again. `isFresh`: the version was stored in this very turn, so it is
 * the newest; any other is compared with a live read first, or a stale mirror would start again what has ended. `again` asks for a
 * turn at once, because effects have shown something. The first failure is thrown when nothing else was learned.
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
  // A version from a mirror may be old, and an old one may owe what was done long ago.
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

/** The news that make the mirror newer ask for a pass themselves; this is for the case that they were lost. */
const staleRetry: Millis = 1_000;

/** Read from the server, not from a mirror. */
async function isNewest(client: ApiClient, workflow: Stored<Workflow>, signal: AbortSignal): Promise<boolean> {
  const live = await getOrUndefined(client, refTo(Workflow, workflow), signal);
  return live?.metadata.resourceVersion === workflow.metadata.resourceVersion;
}
