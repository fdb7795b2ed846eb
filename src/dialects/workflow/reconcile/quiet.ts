import type { Millis } from "#lib/base/index.ts";
import { onlyItemsCameAlive, type RunState } from "#engine/index.ts";
import { isApplied } from "../compile/step-source.ts";
import type { Pass } from "./pass.ts";
import type { PassState } from "./attempts.ts";
import type { KnownRun } from "./memory.ts";

// Starting -> Running is the one change that nothing depends on. Stored at once it would double the writes of a short step; kept in
// memory and lost, it is simply observed again.

/** That a step came alive is stored alone only after this long: most short steps are through by then. */
const patience: Millis = 500;

/**
 * True changes that can wait: answers for how long, and keeps them in memory. Undefined when there is something to store now,
 * or nothing to store at all.
 */
export function quietStage(
  { memory, now, workflow }: Pass,
  known: KnownRun,
  { run, compiled }: PassState,
): Millis | undefined {
  const { generation } = workflow.metadata;
  const isCurrent = generation === undefined || workflow.status?.observedGeneration === generation;
  const isPinned = (key: string): boolean => {
    const step = compiled.steps.get(key);
    return step !== undefined && (step.type === "externalRef" || isApplied(step.step));
  };
  if (run === known.stored || !isCurrent || !onlyCameAlive(known.stored, run, isPinned)) {
    delete memory.quietSince;
    return undefined;
  }
  // A clock that was set back would put it off for as long as it was set back.
  memory.quietSince = Math.min(memory.quietSince ?? now, now);
  const left = memory.quietSince + patience - now;
  if (left <= 0) {
    delete memory.quietSince;
    return undefined;
  }
  memory.known = { ...known, run };
  return left;
}

/** An object that was there before has its uid pinned when it is first seen or applied, which cannot wait. */
function onlyCameAlive(before: RunState, after: RunState, isPinned: (key: string) => boolean): boolean {
  const { steps: stepsBefore } = before;
  const { steps } = after;
  if (!isSameBeyond("steps", before, after) || !isSameBeyond("steps", after, before)) return false;
  const keys = Object.keys(steps);
  if (keys.length !== Object.keys(stepsBefore).length) return false;
  return keys.every((key) => {
    const [old, step] = [stepsBefore[key], steps[key]];
    if (old === step) return true;
    if (old?.items !== undefined && step?.items !== undefined)
      return isSameBeyond("items", old, step) && onlyItemsCameAlive(old.items, step.items);
    return old?.phase === "Starting" && step?.phase === "Running" && old.attempt === step.attempt && !isPinned(key);
  });
}

/** All but one member of `a` are those of `b`. The engine keeps what it does not change, so that identity is equality. */
function isSameBeyond<T extends object>(excepted: keyof T, a: T, b: T): boolean {
  for (const name in a) if (name !== excepted && a[name] !== b[name]) return false;
  return true;
}
