import type { Instant, Millis } from "#lib/base/index.ts";
import type { StepPhase, StepView } from "#engine/index.ts";

export type Tone = "waiting" | "starting" | "running" | "suspended" | "ended";

export interface TimelineBar {
  readonly from: Instant;
  readonly to: Instant;
  readonly tone: Tone;
}

export interface TimelineRow {
  readonly id: string;
  readonly name: string;
  readonly phase: StepPhase;
  readonly bars: readonly TimelineBar[];
}

type TimedStep = Pick<StepView, "id" | "name" | "phase" | "dependencies" | "startedAt" | "finishedAt" | "notBefore">;

/** One row per step. A step waits from when the last step before it ended. */
export function timelineRows(steps: readonly TimedStep[], begun: Instant, now: Instant): readonly TimelineRow[] {
  const ends = new Map(steps.map(({ id, finishedAt }) => [id, finishedAt]));
  return steps.map((step) => {
    const before = step.dependencies.map((id) => ends.get(id));
    const isReady = before.every((end) => end !== undefined);
    const readyAt = Math.max(begun, ...before.flatMap((end) => end ?? []));
    return { id: step.id, name: step.name, phase: step.phase, bars: isReady ? barsOf(step, readyAt, now) : [] };
  });
}

function barsOf({ phase, startedAt, finishedAt }: TimedStep, readyAt: Instant, now: Instant): readonly TimelineBar[] {
  const wait = (to: Instant): TimelineBar[] => (to > readyAt ? [{ from: readyAt, to, tone: "waiting" }] : []);
  if (startedAt === undefined) {
    if (phase === "Waiting" || phase === "Pending") return wait(now);
    if (phase === "Starting") return [{ from: readyAt, to: now, tone: "starting" }];
    return [];
  }
  const tones: Partial<Record<StepPhase, Tone>> = {
    Starting: "starting",
    Running: "running",
    Suspended: "suspended",
    Cancelling: "running",
  };
  const tone = finishedAt === undefined ? (tones[phase] ?? "running") : "ended";
  return [...wait(startedAt), { from: startedAt, to: finishedAt ?? now, tone }];
}

export interface Scale {
  /** From 0 to 1. */
  readonly at: (time: Instant) => number;
  /** Where time is left out, from 0 to 1, and how much. */
  readonly folds: readonly { readonly at: number; readonly left: Millis }[];
}

/** A folded gap is as wide as that part of the active time. */
const foldShare = 0.02;

/**
 * Maps times to places. With `foldGaps`, times in which nothing runs shrink if they are longer than a tenth of the
 * active time.
 */
export function scaleOf(rows: readonly TimelineRow[], begun: Instant, end: Instant, foldGaps: boolean): Scale {
  const active = mergedSpans(rows, begun, end);
  const activeMs = Math.max(
    1,
    active.reduce((sum, [from, to]) => sum + to - from, 0),
  );
  const pieces: { from: Instant; to: Instant; width: number; isFold: boolean }[] = [];
  let at = begun;
  const add = (from: Instant, to: Instant, isActive: boolean): void => {
    if (to <= from) return;
    const isFold = foldGaps && !isActive && to - from > activeMs / 10;
    pieces.push({ from, to, width: isFold ? activeMs * foldShare : to - from, isFold });
  };
  for (const [from, to] of active) {
    add(at, from, false);
    add(from, to, true);
    at = to;
  }
  add(at, end, false);
  const total = Math.max(
    1,
    pieces.reduce((sum, { width }) => sum + width, 0),
  );
  const starts: number[] = [];
  pieces.reduce((sum, { width }) => (starts.push(sum / total), sum + width), 0);
  return {
    at(time) {
      const index = pieces.findLastIndex(({ from }) => from <= time);
      const piece = pieces[index];
      if (piece === undefined) return 0;
      const part = Math.min(1, (time - piece.from) / (piece.to - piece.from));
      return (starts[index] ?? 0) + (part * piece.width) / total;
    },
    folds: pieces.flatMap(({ from, to, isFold }, index) =>
      isFold ? [{ at: starts[index] ?? 0, left: to - from }] : [],
    ),
  };
}

/** Times in which any step runs, in order, without overlaps. */
function mergedSpans(
  rows: readonly TimelineRow[],
  begun: Instant,
  end: Instant,
): readonly (readonly [Instant, Instant])[] {
  const spans = rows
    .flatMap(({ bars }) => bars)
    .filter(({ tone }) => tone !== "waiting" && tone !== "suspended")
    .map(({ from, to }): [Instant, Instant] => [Math.max(begun, from), Math.min(end, to)])
    .filter(([from, to]) => to > from)
    .sort(([a], [b]) => a - b);
  const merged: [Instant, Instant][] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last !== undefined && span[0] <= last[1]) last[1] = Math.max(last[1], span[1]);
    else merged.push(span);
  }
  return merged;
}

const steps: readonly Millis[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000,
];

/** Times for at most `count` marks, from the beginning of the run. */
export function ticksOf(span: Millis, count: number): readonly Millis[] {
  const step = steps.find((one) => span / one <= count) ?? Math.ceil(span / count);
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step);
}
