import { median, type Spread, spread } from "./statistics.ts";
import type { Benchmark, Bound, Line, Series } from "./types.ts";

/** `untold`: what the bound refers to was not measured here, or the line has no bound. */
export type Verdict = "goal" | "holds" | "below" | "untold";

/** One line with its figures. */
export interface Judged {
  readonly id: string;
  readonly metric: string;
  readonly unit: string;
  readonly ours: Spread;
  readonly peer: Compared | undefined;
  readonly floor: Compared | undefined;
  /** Ours divided by the best peer's, and by the floor's. */
  readonly ratioPeer: number;
  readonly ratioFloor: number;
  readonly cpuUs: number;
  readonly heldMs: number;
  readonly hold: string;
  readonly goal: string;
  readonly verdict: Verdict;
  readonly isNoisy: boolean;
  readonly notes: readonly string[];
  /** Every other candidate of the benchmark, for the record. */
  readonly others: readonly Compared[];
}

export interface Compared {
  readonly name: string;
  readonly version?: string;
  readonly figures: Spread;
  readonly cpuUs: number;
}

/** Compares one line's figures. Undefined when ours was not measured. */
export function judge(benchmark: Benchmark, line: Line, all: readonly Series[]): Judged | undefined {
  const ours = all.find(({ source }) => source.name === line.ours);
  if (ours === undefined) return undefined;
  const compare = (series: Series) => comparedOf(series, line);
  const peers = all.filter(
    ({ source }) => source.role === "peer" && (line.peers ?? [source.name]).includes(source.name),
  );
  const peer = bestOf(peers.map(compare), line.better);
  const floorSeries = all.find(({ source }) => source.name === line.floor);
  const floor = floorSeries === undefined ? undefined : compare(floorSeries);
  const figures = compare(ours);
  const value = (bound: Bound): number => {
    if (bound.to === undefined) return figures.figures[1];
    const base = bound.to === "best peer" ? peer : all.map(compare).find(({ name }) => name === bound.to);
    return figures.figures[1] / (base?.figures[1] ?? NaN);
  };
  const shown = [line.ours, line.floor];
  return {
    id: benchmark.id,
    metric: line.metric,
    unit: line.unit,
    ours: figures.figures,
    peer,
    floor,
    ratioPeer: figures.figures[1] / (peer?.figures[1] ?? NaN),
    ratioFloor: figures.figures[1] / (floor?.figures[1] ?? NaN),
    cpuUs: figures.cpuUs,
    heldMs: Math.max(...ours.windows.map(({ heldMs = NaN }) => heldMs)),
    hold: line.hold === undefined ? "" : boundText(line.hold, line),
    goal: (line.goal ?? []).map((bound) => boundText(bound, line)).join(", "),
    verdict: verdictOf(line, value),
    isNoisy: ours.isNoisy || all.some(({ source, isNoisy }) => isNoisy && source.name === peer?.name),
    notes: [...new Set(ours.windows.flatMap(({ note }) => note ?? []))],
    others: all.filter(({ source }) => !shown.includes(source.name)).map(compare),
  };
}

function comparedOf({ source, windows }: Series, { value, perOp = 1 }: Line): Compared {
  return {
    name: source.name,
    ...(source.version === undefined ? {} : { version: source.version }),
    figures: spread(windows.map(value)),
    cpuUs: median(windows.map(({ cpuUs, ops }) => cpuUs / ops / perOp)),
  };
}

function bestOf(candidates: readonly Compared[], better: Line["better"]): Compared | undefined {
  const sign = better === "more" ? -1 : 1;
  return [...candidates].sort((a, b) => sign * (a.figures[1] - b.figures[1]))[0];
}

/** Whether the bounds are kept. `value` gives the figure a bound is about, NaN when it is not known. */
export function verdictOf(
  { better, hold, goal = [] }: Pick<Line, "better" | "hold" | "goal">,
  value: (bound: Bound) => number,
): Verdict {
  const isKept = (bound: Bound): boolean =>
    better === "more" ? value(bound) >= bound.ratio : value(bound) <= bound.ratio;
  const isKnown = (bound: Bound): boolean => !Number.isNaN(value(bound));
  if (hold !== undefined && isKnown(hold) && !isKept(hold)) return "below";
  const isGoal = goal.length > 0 && goal.every((bound) => isKnown(bound) && isKept(bound));
  if (isGoal) return "goal";
  return hold !== undefined && isKnown(hold) ? "holds" : "untold";
}

const boundText = ({ to, ratio }: Bound, { better, unit }: Line): string => {
  const sign = better === "more" ? ">=" : "<=";
  return to === undefined ? `${sign} ${ratio} ${unit}` : `${sign} ${ratio}x ${to}`;
};
