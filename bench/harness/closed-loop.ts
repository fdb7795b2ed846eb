import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "./statistics.ts";

export interface ClosedLoad {
  readonly ms: number;
  readonly inFlight: number;
  /** Time between the starts of two operations of one caller; an operation that takes longer delays the next one. */
  readonly everyMs?: number;
}

export interface ClosedFigures {
  readonly ops: number;
  readonly ms: number;
  readonly p50: number;
  readonly p99: number;
}

/** Keeps `inFlight` operations going for `ms`; each caller starts at least one. */
export async function closedLoop(
  { ms, inFlight, everyMs = 0 }: ClosedLoad,
  operate: (id: number, caller: number) => Promise<unknown>,
): Promise<ClosedFigures> {
  const took: number[] = [];
  const start = performance.now();
  const end = start + ms;
  let id = 0;
  const call = async (caller: number): Promise<void> => {
    do {
      const begin = performance.now();
      await operate(id++, caller);
      took.push(performance.now() - begin);
      const left = begin + everyMs - performance.now();
      if (left > 0) await sleep(left);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, caller) => call(caller)));
  const elapsed = performance.now() - start;
  took.sort((a, b) => a - b);
  return { ops: took.length, ms: elapsed, p50: quantile(took, 0.5), p99: quantile(took, 0.99) };
}
