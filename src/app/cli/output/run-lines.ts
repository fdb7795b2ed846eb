import type { RunView, StepView } from "#engine/index.ts";
import type { Instant } from "#lib/base/index.ts";
import { elapsedOf, explanationOf, formatElapsed, remarkOf, titleOf } from "./run-tree.ts";

/**
 * One plain line for each change between two views of a run, or for everything that has begun. Each starts with the
 * time since the start of the run, so lines of several runs can be compared.
 */
export function changedLines(before: RunView | undefined, after: RunView, now: Instant): string[] {
  const earlier = new Map(before?.steps.map((step) => [step.id, step]));
  const at = `[${formatElapsed(now - (after.startedAt ?? now)).padStart(6)}]`;
  const steps = after.steps
    .filter((step) => hasMoved(earlier.get(step.id), step, after.phase))
    .map((step) => `${at} ${stepText(step, now)}`);
  const run = isRunWorthALine(before, after) ? [`${at} ${runText(after, now)}`] : [];
  return after.phase === "Running" ? [...run, ...steps] : [...steps, ...run];
}

/** A new phase; a run that has not begun also when its explanation changes, because it may wait long. */
const isRunWorthALine = (before: RunView | undefined, after: RunView): boolean =>
  after.phase === "Pending"
    ? explanationOf(after) !== "" && (before === undefined || explanationOf(before) !== explanationOf(after))
    : before?.phase !== after.phase;

/**
 * One line for every step that is held up, once for each attempt and reason. `told` holds what was printed before, and
 * grows.
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
 * A new phase or attempt. Not `Starting`, which is brief, nor the first `Waiting` of a run that has started: all ready
 * steps wait for a slot at first. A run that has not started may wait long, for an agent.
 */
const hasMoved = (before: StepView | undefined, { phase, attempt }: StepView, run: RunView["phase"]): boolean =>
  phase !== "Pending" &&
  phase !== "Starting" &&
  !(phase === "Waiting" && before === undefined && run !== "Pending") &&
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
