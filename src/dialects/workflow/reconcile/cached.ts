import { getOrAdd } from "#lib/base/index.ts";
import {
  activeItems,
  advance,
  type Advance,
  type ChildFact,
  type Effect,
  type ItemTry,
  type RunState,
  stepState,
  type Plan,
} from "#engine/index.ts";
import { keyOf } from "#kernel/model/index.ts";
import type { CompiledStep } from "../compile/compiled.ts";
import { isExecuted } from "../compile/step-source.ts";
import { lookUp } from "../cache/lookup.ts";
import { attemptOf, type PassState } from "./attempts.ts";
import { itemAttempt } from "./items.ts";
import { effectName } from "./memory.ts";
import { OutputRoom } from "./output-room.ts";
import type { Pass } from "./pass.ts";

// The cache is asked before a step's start is stored. A result is stored in the same write, so no intent remains after
// a crash; otherwise the intent is stored and only the child counts.

/** A chain of results takes one round per step; the rest runs. */
const mostRounds = 2_000;

export interface Cached {
  readonly next: Advance;
  readonly cachedItems: ReadonlyMap<string, number>;
}

/** `before` is the stored run; `first` is what follows by `plan` without the cache. */
export function cacheStage(pass: Pass, before: PassState, plan: Plan, first: Advance): Cached {
  const cachedItems = new Map<string, number>();
  const asked = new Set<string>();
  const stored = storedItems(before.run);
  let next = first;
  for (let round = 0; round < mostRounds; round++) {
    const starts = next.effects.filter(
      (effect) => isNew(before, next.run, effect, stored) && !asked.has(effectName(effect)),
    );
    for (const effect of starts) asked.add(effectName(effect));
    const facts = answersTo(pass, { ...before, run: next.run }, starts);
    if (facts.length === 0) break;
    for (const { step, item, state } of facts)
      if (item !== undefined && state.is === "succeeded") cachedItems.set(step, (cachedItems.get(step) ?? 0) + 1);
    const then = advance(plan, next.run, facts, before.now, pass.memory.cache);
    next = { ...then, ignored: next.ignored + then.ignored };
  }
  return { next, cachedItems };
}

/** An unstored start of a step with a cache. Retried runs do not ask: the person wants the step to run. */
function isNew(
  { compiled, run }: PassState,
  next: RunState,
  { kind, step: key, attempt, item }: Effect,
  stored: (key: string) => ReadonlySet<string>,
): boolean {
  if (kind !== "start" || compiled.steps.get(key)?.cache === undefined) return false;
  if (stepState(next, key).earlierAttempts !== undefined) return false;
  const step = stepState(run, key);
  if (item === undefined) return step.phase !== "Starting" || step.attempt !== attempt;
  return !stored(key).has(itemName(item));
}

const itemName = ({ index, attempt }: ItemTry): string => `${index} ${attempt}`;

/** Items whose start is stored. Read once per step, because there may be ten thousand. */
function storedItems(run: RunState): (key: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (key) => {
    return getOrAdd(known, key, () => new Set(activeItems(stepState(run, key)).map(itemName)));
  };
}

function answersTo(pass: Pass, state: PassState, starts: readonly Effect[]): readonly ChildFact[] {
  const room = new OutputRoom(state.run);
  return starts.flatMap((effect): ChildFact[] => {
    const { step: key, attempt: number, item } = effect;
    const step = state.compiled.steps.get(key);
    const attempt = step && attemptFor(pass, state, step, effect);
    const looked = attempt && lookUp(attempt, (namespace, name) => pass.cacheEntries.get(entryKey(namespace, name)));
    if (looked === undefined) return [];
    pass.tally.cacheAsked(looked.outcome);
    if (looked.state === undefined) return [];
    const fact: ChildFact = { kind: "child", step: key, attempt: number, state: looked.state };
    const whole = item === undefined ? fact : { ...fact, item };
    return room.take(whole) === undefined ? [whole] : [];
  });
}

const entryKey = (namespace: string | undefined, name: string): string =>
  keyOf({ name, ...(namespace === undefined ? {} : { namespace }) });

function attemptFor({ executors }: Pass, state: PassState, step: CompiledStep, { item }: Effect) {
  if (!isExecuted(step.type)) return undefined;
  return item === undefined ? attemptOf(state, step) : itemAttempt(state, step, executors[step.type], item, "Starting");
}
