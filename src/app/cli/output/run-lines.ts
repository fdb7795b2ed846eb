import type { RunView, StepView } from "#engine/index.ts";
import type { Instant } from "#lib/base/index.ts";
import { elapsedOf, explanationOf, formatElapsed, remarkOf, titleOf } from "./run-tree.ts";

/**
 * What changed between two pictures of a run, one plain line each, for places that are no terminal; without a picture
 * before, everything that has begun. Each line begins with the time since the start of the run (its creation is known to
 * the second only), so that lines of several runs can be put side by side.
 */
export function changedLines(before: RunView | undefined, after: RunView, now: Instant): string[] {
  const earlier = new Map(before?.steps.map((step) => [step.id, step]));
  const at = `[${formatElapsed(now - (after.startedAt ?? now)).padStart(6)}]`;
  const steps = after.steps
    .filter((step) => hasMoved(earlier.get(step.id), step))
    .map((step) => `${at} ${stepText(step, now)}`);
  const run = isRunWorthALine(before, after) ? [`${at} ${runText(after, now)}`] : [];
  // The start of a run comes before its steps, its end after them.
  return after.phase === "Running" ? [...run, ...steps] : [...steps, ...run];
}

/** A phase that is new. One that has not begun is told of when it says why: it may wait long, or for a correction. */
const isRunWorthALine = (before: RunView | undefined, after: RunView): boolean =>
  after.phase === "Pending"
    ? explanationOf(after) !== "" && (before === undefined || explanationOf(before) !== explanationOf(after))
    : before?.phase !== after.phase;

/**
 * One line for every step that is held up, once per attempt and reason: what is tried again and again says the same each time. `told`
 * is what has been said before, and grows by what is answered.
 */
export function holdUpLines(view: RunView, told: Set<string>, now: Instant): string[] {
  const at = `[${formatElapsed(now - (view.startedAt ?? now)).padStart(6)}]`;
  return view.steps.flatMap((step) => {
    if (step.holdUp === undefined) return [];
    const what = `${step.id}#${step.attempt} ${step.holdUp.reason}`;
    if (told.has(what)) return [];
    told.add(what);
    return [`${at} ${titleOf(step)}: held up (${remarkOf(step)})`];
  });
}

/**
 * Worth a line: a phase or an attempt that is new. Not told: what has not begun, and `Starting`, which is over in a
 * moment; `Waiting` only when the step did something before, because all ready steps wait for a slot at first.
 */
const hasMoved = (before: StepView | undefined, { phase, attempt }: StepView): boolean =>
  phase !== "Pending" &&
  phase !== "Starting" &&
  !(phase === "Waiting" && before === undefined) &&
  (before?.phase !== phase || before.attempt !== attempt);

function stepText(step: StepView, now: Instant): string {
  const remark = remarkOf(step);
  const took = step.finishedAt === undefined || step.startedAt === undefined ? "" : ` in ${elapsedOf(step, now)}`;
  return `${titleOf(step)}: ${step.phase}${took}${remark === "" ? "" : ` (${remark})`}`;
}

function runText(view: RunView, now: Instant): string {
  const took = view.finishedAt === undefined ? "" : ` in ${elapsedOf(view, now)}`;
  const why = explanationOf(view);
  return `${view.name}: ${view.nativePhase}${took}${why === "" ? "" : ` (${why})`}`;
}
