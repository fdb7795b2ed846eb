import type { Millis } from "#lib/base/index.ts";
import { onlyItemsCameAlive, type RunState } from "#engine/index.ts";
import { isApplied } from "../compile/step-source.ts";
import type { Pass } from "./pass.ts";
import type { PassState } from "./attempts.ts";
import type { KnownRun } from "./memory.ts";

// Nothing depends on Starting -> Running. Storing it at once would double the writes of short steps.

/** Most short steps end before this. */
const patience: Millis = 500;

/** Keeps changes that can wait and returns for how long. Undefined if something must be stored, or nothing. */
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
  // In case the clock was set back.
  memory.quietSince = Math.min(memory.quietSince ?? now, now);
  const left = memory.quietSince + patience - now;
  if (left <= 0) {
    delete memory.quietSince;
    return undefined;
  }
  memory.known = { ...known, run };
  return left;
}

/** The uid of an existing object must be stored when it is first seen or applied. */
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

/** Equal except for one member. The engine keeps unchanged objects, so identity suffices. */
function isSameBeyond<T extends object>(excepted: keyof T, a: T, b: T): boolean {
  for (const name in a) if (name !== excepted && a[name] !== b[name]) return false;
  return true;
}
