import { pendingStep, type RunPhase, type RunState, type StepPhase, type StepState, stepState } from "./run.ts";

export type Note = RunNote | StepNote | ItemNote;

interface Told {
  readonly reason?: string;
  readonly message?: string;
}

export interface RunNote extends Told {
  readonly kind: "run";
  readonly from: RunPhase;
  readonly to: RunPhase;
  readonly number: number;
}

/** `from` equals `to` if only the attempt changed. */
export interface StepNote extends Told {
  readonly kind: "step";
  readonly step: string;
  readonly from: StepPhase;
  readonly to: StepPhase;
  readonly attempt: number;
}

/** At most the first ten failures. */
export interface ItemNote extends Told {
  readonly kind: "item";
  readonly step: string;
  readonly index: number;
  readonly attempt: number;
}

export interface StepChange {
  readonly step: string;
  readonly was: StepState;
  readonly is: StepState;
}

/** Changes of phases and attempts, and failed items. The run's note comes first, unless it is the end. */
export function diff(before: RunState, after: RunState, changes?: readonly StepChange[]): readonly Note[] {
  const steps = (changes ?? changesBetween(before, after)).flatMap((change) => stepNotes(change));
  if (before.phase === after.phase && before.number === after.number) return steps;
  const run: RunNote = { kind: "run", from: before.phase, to: after.phase, number: after.number, ...told(after) };
  return after.finishedAt === undefined ? [run, ...steps] : [...steps, run];
}

function changesBetween(before: RunState, after: RunState): readonly StepChange[] {
  if (before.steps === after.steps) return [];
  const changes: StepChange[] = [];
  let kept = 0;
  for (const step of Object.keys(after.steps)) {
    // Nearly all steps are the same objects.
    if (before.steps[step] === after.steps[step]) kept++;
    else {
      if (Object.hasOwn(before.steps, step)) kept++;
      changes.push({ step, was: stepState(before, step), is: stepState(after, step) });
    }
  }
  const ids = Object.keys(before.steps);
  // Only a reset takes steps away.
  if (kept === ids.length) return changes;
  for (const step of ids) {
    if (!Object.hasOwn(after.steps, step)) changes.push({ step, was: stepState(before, step), is: pendingStep });
  }
  return changes;
}

function stepNotes({ step, was, is }: StepChange): readonly (StepNote | ItemNote)[] {
  if (was === is) return [];
  const items = itemNotes(step, was, is);
  if (was.phase === is.phase && was.attempt === is.attempt) return items;
  return [...items, { kind: "step", step, from: was.phase, to: is.phase, attempt: is.attempt, ...told(is) }];
}

/** Failures are only added, except by a reset. */
const itemNotes = (step: string, was: StepState, is: StepState): ItemNote[] =>
  (is.items?.failures ?? []).slice(was.items?.failures?.length ?? 0).map(({ index, attempt, reason, message }) => ({
    kind: "item",
    step,
    index,
    attempt,
    ...told({ reason, message }),
  }));

const told = ({ reason, message }: { reason?: string | undefined; message?: string | undefined }): Told => ({
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});
