import type { Instant, Millis } from "#lib/base/index.ts";
import type { StepPhase, StepView } from "#engine/index.ts";
import { formatSpan } from "../data/time.ts";

export type Tone = "waiting" | "starting" | "running" | "suspended" | "ended";

export interface TimelineBar {
  readonly from: Instant;
  readonly to: Instant;
  readonly tone: Tone;
  /** Of an attempt that failed and was followed by another. */
  readonly attempt?: number;
}

export interface TimelineRow {
  readonly id: string;
  readonly name: string;
  readonly phase: StepPhase;
  readonly bars: readonly TimelineBar[];
}

type TimedStep = Pick<
  StepView,
  "id" | "name" | "phase" | "dependencies" | "startedAt" | "finishedAt" | "attemptAt" | "earlier" | "holdUp"
>;

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

function barsOf(step: TimedStep, readyAt: Instant, now: Instant): readonly TimelineBar[] {
  const { phase, startedAt, finishedAt, attemptAt, earlier = [], holdUp } = step;
  const waiting = (from: Instant, to: Instant): readonly TimelineBar[] =>
    to > from ? [{ from, to, tone: "waiting" }] : [];
  if (startedAt === undefined) {
    if (phase === "Waiting" || phase === "Pending") return waiting(readyAt, now);
    return phase === "Starting" ? [{ from: readyAt, to: now, tone: "starting" }] : [];
  }
  const bars: TimelineBar[] = [...waiting(readyAt, startedAt)];
  let at = startedAt;
  for (const { attempt, startedAt: from = at, finishedAt: to } of earlier) {
    if (to === undefined || to < at) continue;
    // Times of objects are whole seconds.
    const begun = Math.min(to, Math.max(at, from));
    bars.push(...waiting(at, begun), { from: begun, to, tone: "ended", attempt });
    at = to;
  }
  const begun = Math.max(at, attemptAt ?? at);
  const isOver = finishedAt !== undefined;
  if (!isOver && phase === "Waiting") return [...bars, ...waiting(at, now)];
  // What is held up has no container that runs.
  const tone = isOver ? "ended" : holdUp !== undefined ? "starting" : (tones[phase] ?? "running");
  return [...bars, ...waiting(at, begun), { from: begun, to: Math.max(begun, finishedAt ?? now), tone }];
}

const tones: Partial<Record<StepPhase, Tone>> = { Starting: "starting", Suspended: "suspended" };

/** A deadline so near that it is shown stretches the axis by at most this share. */
const stretch = 0.4;

/** The end of the axis: a little after now, so that what runs does not end at the edge, and a deadline that is near. */
export function axisEnd(begun: Instant, now: Instant, deadline: Instant | undefined): Instant {
  const span = Math.max(1, now - begun);
  const end = now + span * 0.03;
  return deadline !== undefined && deadline > end && deadline <= begun + span * (1 + stretch)
    ? deadline + span * 0.02
    : end;
}

export interface Scale {
  /** From 0 to 1. */
  readonly at: (time: Instant) => number;
  /** Where time is left out, from 0 to 1, and how much. */
  readonly folds: readonly { readonly at: number; readonly left: Millis }[];
  /** How much could be left out. */
  readonly idle: Millis;
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
  let idle = 0;
  const add = (from: Instant, to: Instant, isActive: boolean): void => {
    if (to <= from) return;
    const isIdle = !isActive && to - from > activeMs / 10;
    if (isIdle) idle += to - from;
    const isFold = foldGaps && isIdle;
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
    idle,
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

/** Of a mark: no more than it needs. */
export function formatTick(tick: Millis): string {
  if (tick === 0) return "0";
  if (tick < 60_000) return tick % 1000 === 0 || tick < 1000 ? `${tick / 1000}s` : `${Math.round(tick / 10) / 100}s`;
  return formatSpan(tick).replace(/ 00[smh]$/, "");
}

/** Times for at most `count` marks, from the beginning of the run. */
export function ticksOf(span: Millis, count: number): readonly Millis[] {
  const step = steps.find((one) => span / one <= count) ?? Math.ceil(span / count);
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step);
}
