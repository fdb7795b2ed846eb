import { cutLines, type LineFrames, pickLines } from "../worker-api/line-frames.ts";
import { codeOf } from "#lib/base/index.ts";
import { type AggregationParts, insist, tellInLog } from "./aggregation-parts.ts";
import type { TakenLines } from "./build-api.ts";

interface CarriedLines extends TakenLines {
  readonly known: ReadonlyMap<number, number>;
}

/** Transfers missing lines. With `isDurable` they are synced, and lines without a number are left out, because they
 * could be duplicates. */
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

/** Number in step 0, behind those of artifacts. */
const skippedLine = 1_000_000_000;

/** Resolves when all lines are synced. If the API lost lines they are sent again. Refused lines are reported once and
 * offered until nothing changes. */
export async function confirmLines(parts: AggregationParts, signal: AbortSignal): Promise<void> {
  const { api, log } = parts;
  for (;;) {
    const { known, inserted, skipped, problem } = await carryLines(parts, signal, true);
    await insist(parts, signal, () => api.flushed(signal));
    const kept = await insist(parts, signal, () => api.cursors(signal));
    // New lines are durable; older ones if they still exist.
    if ([...known].some(([stepId, last]) => (kept.get(stepId) ?? 0) < last))
      log.warn("wharf-api lost lines; they are sent again", {});
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
  parts.log.warn("wharf-api rejected log lines", { lines: count, problem });
  const what = count === 1 ? "a line was not taken" : `${count} lines were not taken; the first`;
  await tellInLog(parts, skippedLine, `${what}: ${problem}`, signal);
}

interface BatchLimits {
  readonly lines: number;
  readonly bytes: number;
}

/** Stays below the 8 MiB that a worker may use of the aggregator. */
const usualBatchLimits: BatchLimits = { lines: 10_000, bytes: 2 * 1024 * 1024 };

/** Sends lines in batches, one at a time, because wharf-api keeps the order of arrival. Lines that arrive meanwhile are
 * combined, without a timer. `add` waits while a full batch is pending, which stops reading from the worker. */
export class LineForwarder {
  readonly #send: (lines: LineFrames) => Promise<void>;
  readonly #limits: BatchLimits;
  #sending: Promise<void> | undefined;
  #waiting: Buffer[] = [];
  #waitingLines = 0;
  #waitingBytes = 0;
  #failure: { readonly thrown: unknown } | undefined;

  /** Rejections are final; `send` retries by itself. */
  constructor(send: (lines: LineFrames) => Promise<void>, limits: BatchLimits = usualBatchLimits) {
    this.#send = send;
    this.#limits = limits;
  }

  async add(frames: LineFrames): Promise<void> {
    for (const { bytes, lines } of cutLines(frames, this.#limits)) {
      if (this.#waitingLines + lines > this.#limits.lines) await this.#sendFull();
      this.#waiting.push(bytes);
      this.#waitingLines += lines;
      this.#waitingBytes += bytes.length;
      if (this.#waitingLines >= this.#limits.lines || this.#waitingBytes >= this.#limits.bytes) await this.#sendFull();
    }
    if (this.#sending === undefined) this.#begin();
    this.#throwFailure();
  }

  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    this.#throwFailure();
  }

  async #sendFull(): Promise<void> {
    if (this.#sending === undefined) this.#begin();
    else await this.#sending;
    this.#throwFailure();
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#failure !== undefined) return;
    const frames = { bytes: Buffer.concat(this.#waiting), lines: this.#waitingLines };
    this.#waiting = [];
    this.#waitingLines = this.#waitingBytes = 0;
    this.#sending = this.#send(frames)
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown };
      })
      .then(() => {
        this.#sending = undefined;
        this.#begin();
      });
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }
}
