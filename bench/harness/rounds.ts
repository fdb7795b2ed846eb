import { isDisturbed, type Probes } from "./probes.ts";
import { isWithin } from "./statistics.ts";
import type { Benchmark, Candidate, CandidateSource, Measured, Series } from "./types.ts";

export interface Length {
  readonly rounds: number;
  /** Of one window. */
  readonly ms: number;
  /** One window of each of ours and each floor, whatever the machine does meanwhile. */
  readonly isSmoke?: boolean;
  /** For one wait of a smoke run: a start, a window or an end. */
  readonly limitMs?: number;
  /** Neither peers nor floors. */
  readonly isOnlyOurs?: boolean;
}

/** On the busiest machine. */
const smokeLimitMs = 120_000;

const mostRepeats = 3;
const mostWarmUps = 5;

interface Started {
  readonly source: CandidateSource;
  readonly candidate: Candidate;
  readonly windows: Measured[];
  isNoisy: boolean;
}

/**
 * Measures all candidates of a benchmark alternately, round by round. Peers and floors that do not start are left out and
 * told of through `tell`; ours must start.
 */
export async function measureAll(
  benchmark: Benchmark,
  length: Length,
  probes: Probes,
  tell: (line: string) => void,
): Promise<readonly Series[]> {
  const ms = Math.max(length.ms, benchmark.windowMs ?? 0);
  // A window that starts programs may take a minute; a disturbed one is marked and kept.
  const isOnce = length.isSmoke === true || benchmark.isCold === true;
  const repeats = isOnce ? 0 : mostRepeats;
  const started: Started[] = [];
  try {
    for (const source of benchmark.candidates) {
      if (length.isSmoke === true && source.role === "peer") {
        tell(`${benchmark.id}: WITHOUT ${source.name}: a smoke run has no peers`);
        continue;
      }
      if (length.isOnlyOurs === true && source.role !== "ours") {
        tell(`${benchmark.id}: WITHOUT ${source.name}: only ours was asked for`);
        continue;
      }
      const isStarted = startOf(source, benchmark.id, tell);
      const candidate = await bounded(length, `${source.name} starts`, isStarted);
      if (candidate !== undefined) started.push({ source, candidate, windows: [], isNoisy: false });
    }
    if (!isOnce) for (const one of started) await warmUp(one, ms / 2);
    for (let round = 0; round < length.rounds; round++) {
      for (const one of started)
        await bounded(length, `${one.source.name} is measured`, measureQuietly(one, ms, `${round}`, probes, repeats));
      tell(`${benchmark.id}: round ${round + 1} of ${length.rounds}`);
    }
    return started;
  } finally {
    for (const { candidate, source } of started) await bounded(length, `${source.name} ends`, candidate.close());
  }
}

/** In a smoke run fails with what it waits for, when that does not come; else waits as long as it takes. */
async function bounded<T>({ isSmoke, limitMs = smokeLimitMs }: Length, what: string, work: Promise<T>): Promise<T> {
  if (isSmoke !== true) return await work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limitMs / 1000} s: ${what}`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function startOf(
  source: CandidateSource,
  id: string,
  tell: (line: string) => void,
): Promise<Candidate | undefined> {
  try {
    return await source.start();
  } catch (thrown) {
    if (source.role === "ours") throw thrown;
    tell(`${id}: WITHOUT ${source.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    return undefined;
  }
}

/**
 * Until two windows in a row are alike: code is compiled and files have their size then. Alike in CPU, too: where the load comes at a fixed
 * rate that is the only figure that tells.
 */
async function warmUp({ candidate, source }: Started, ms: number): Promise<void> {
  let last: Measured | undefined;
  for (let turn = 0; turn < mostWarmUps; turn++) {
    const window = await measured(candidate, source, ms, `warm-${turn}`);
    if (last !== undefined && isAlike(window, last)) return;
    last = window;
  }
}

function isAlike(a: Measured, b: Measured): boolean {
  const isCpuKnown = Number.isFinite(a.cpuUs) && Number.isFinite(b.cpuUs);
  return isWithin(a.ops / a.ms, b.ops / b.ms, 0.1) && (!isCpuKnown || isWithin(a.cpuUs / a.ops, b.cpuUs / b.ops, 0.1));
}

async function measureQuietly(one: Started, ms: number, round: string, probes: Probes, repeats: number): Promise<void> {
  for (let turn = 0; ; turn++) {
    const before = probes.take();
    const window = await measured(one.candidate, one.source, ms, `${round}-${turn}`);
    const after = probes.take();
    const isNoisy = [before, after].some((probe) => isDisturbed(probe, probes.median));
    if (isNoisy && turn < repeats) continue;
    one.windows.push(window);
    one.isNoisy ||= isNoisy;
    return;
  }
}

async function measured(candidate: Candidate, source: CandidateSource, ms: number, round: string): Promise<Measured> {
  try {
    return await candidate.measure(ms, round);
  } catch (thrown) {
    throw new Error(`${source.name} failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`, {
      cause: thrown,
    });
  }
}
