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
  const limit = ({ to, ratio, plus = 0 }: Bound): number => {
    if (to === undefined) return ratio;
    const base = to === "best peer" ? peer : all.map(compare).find(({ name }) => name === to);
    return ratio * (base?.figures[1] ?? NaN) + plus;
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
    hold: boundsText(line.hold, line),
    goal: boundsText(line.goal, line),
    verdict: verdictOf(line, figures.figures[1], limit),
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

/** Whether the bounds are kept. `limit` gives the figure that a bound asks for, NaN when it is not known. */
export function verdictOf(
  { better, hold = [], goal = [] }: Pick<Line, "better" | "hold" | "goal">,
  figure: number,
  limit: (bound: Bound) => number,
): Verdict {
  const isKept = (bound: Bound): boolean => (better === "more" ? figure >= limit(bound) : figure <= limit(bound));
  const isKnown = (bound: Bound): boolean => !Number.isNaN(limit(bound));
  const known = hold.filter(isKnown);
  if (!known.every(isKept)) return "below";
  // One bound that nobody could look at is enough not to know.
  if (known.length < hold.length) return "untold";
  if (goal.length > 0 && goal.every((bound) => isKnown(bound) && isKept(bound))) return "goal";
  return known.length > 0 ? "holds" : "untold";
}

const boundsText = (bounds: readonly Bound[] = [], line: Line): string =>
  bounds.map((bound) => boundText(bound, line)).join(", ");

const boundText = ({ to, ratio, plus }: Bound, { better, unit }: Line): string => {
  const sign = better === "more" ? ">=" : "<=";
  const more = plus === undefined ? "" : ` + ${plus} ${unit}`;
  return to === undefined ? `${sign} ${ratio} ${unit}` : `${sign} ${ratio}x ${to}${more}`;
};
