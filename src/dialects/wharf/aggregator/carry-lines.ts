import { codeOf } from "#lib/base/index.ts";
import { cutLines, type LineFrames, pickLines } from "../worker-api/line-frames.ts";
import { type AggregationParts, insist, tellInLog } from "./aggregation-parts.ts";
import type { TakenLines } from "./build-api.ts";
import { LineForwarder } from "./line-forwarder.ts";

/** What one pass over the lines of a worker has come to. */
interface CarriedLines extends TakenLines {
  /** By step, up to which line the API had everything before it. */
  readonly known: ReadonlyMap<number, number>;
}

/**
 * Carries what the API has not. With `isDurable` everything that it has taken is on its disk then, but for what it had before; lines without a number
 * are left out, because nobody could tell that they are there already.
 */
export async function carryLines(
  parts: AggregationParts,
  signal: AbortSignal,
  isDurable = false,
): Promise<CarriedLines> {
  const { worker, api } = parts;
  const known = await insist(parts, signal, () => api.cursors(signal));
  let [inserted, skipped] = [0, 0];
  let problem: string | undefined;
  const forwarder = new LineForwarder(async (frames) => {
    const taken = await insist(parts, signal, () => putFrames(api, frames, isDurable, signal));
    inserted += taken.inserted;
    skipped += taken.skipped;
    problem ??= taken.problem;
  });
  for await (const frames of worker.logs(known, signal))
    await forwarder.add(isDurable ? pickLines(frames, (_stepId, logId) => logId > 0) : frames);
  await forwarder.flush();
  return { known, inserted, skipped, problem };
}

/** An API that takes longer over lines than an answer may take has the time for half of them. */
async function putFrames(
  api: AggregationParts["api"],
  frames: LineFrames,
  isDurable: boolean,
  signal: AbortSignal,
): Promise<TakenLines> {
  try {
    return await api.putFrames(frames, signal, isDurable);
  } catch (thrown) {
    if (codeOf(thrown) !== "wharf-slow" || frames.lines < 2) throw thrown;
  }
  let [inserted, skipped] = [0, 0];
  let problem: string | undefined;
  for (const half of cutLines(frames, { lines: Math.ceil(frames.lines / 2), bytes: Number.POSITIVE_INFINITY })) {
    const taken = await putFrames(api, half, isDurable, signal);
    inserted += taken.inserted;
    skipped += taken.skipped;
    problem ??= taken.problem;
  }
  return { inserted, skipped, problem };
}

/** In step 0, behind the numbers of artifacts that are told there. */
const skippedLine = 1_000_000_000;

/**
 * Resolves when every line is on the API's disk. An API that has lost power since it took some has them no more: what is missing then is carried
 * again, from a worker that has ended and holds everything. Lines that the API keeps out are told once, and hold up nothing; they are offered until
 * nothing that comes with them makes room for more.
 */
export async function confirmLines(parts: AggregationParts, signal: AbortSignal): Promise<void> {
  const { api, log } = parts;
  for (;;) {
    const { known, inserted, skipped, problem } = await carryLines(parts, signal, true);
    await insist(parts, signal, () => api.flushed(signal));
    const kept = await insist(parts, signal, () => api.cursors(signal));
    // What was carried just now is durable, and what was there before is if it is there still.
    if ([...known].some(([stepId, last]) => (kept.get(stepId) ?? 0) < last))
      log.warn("wharf-api has lost lines that it had taken; they are carried again", {});
    else if (skipped === 0) return;
    else if (inserted === 0) return await tellSkipped(parts, skipped, problem ?? "no reason was given", signal);
  }
}

async function tellSkipped(
  parts: AggregationParts,
  count: number,
  problem: string,
  signal: AbortSignal,
): Promise<void> {
  parts.log.warn("wharf-api does not take some lines", { lines: count, problem });
  const what = count === 1 ? "a line was not taken" : `${count} lines were not taken; the first`;
  await tellInLog(parts, skippedLine, `${what}: ${problem}`, signal);
}
