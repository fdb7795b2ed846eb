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

// The cache is asked between the decision to start a step and its being stored. A result that is there becomes a part of the same write,
// so that there never was an intent that a crash could leave behind; without one the intent is stored, and from then on the child
// alone counts. No attempt is both.

/** A chain of results takes a round for each of its steps; what is beyond this is carried out. */
const mostRounds = 2_000;

/** The run with every result that was there, and how many items of which step had one. */
export interface Cached {
  readonly next: Advance;
  readonly cachedItems: ReadonlyMap<string, number>;
}

/** `before` is the run that is stored, or as good as that; `first` what follows from it by `plan` while nobody asks the cache. */
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

/**
 * The start of a step with a cache that is not stored yet. Who repeats a step that was carried out wants it carried out again, so that
 * steps of earlier run numbers do not ask.
 */
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

/** The items of a step whose intent is stored. Read once for each step: there may be ten thousand of them. */
function storedItems(run: RunState): (key: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (key) => {
    const names = known.get(key) ?? new Set(activeItems(stepState(run, key)).map(itemName));
    known.set(key, names);
    return names;
  };
}

/** The results that are there, as facts about attempts that never had a child. */
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
