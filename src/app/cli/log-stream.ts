import { setMaxListeners } from "node:events";
import type { StepView } from "#engine/index.ts";
import { type Cancel, type Clock, messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import { LinePrefixer } from "./output/line-prefixer.ts";
import { patiently, reconnectMs, mostFailures, Patience } from "./patience.ts";
import { logName, type StepLog, stepLogs, openStepLog } from "#app/runs/index.ts";
import { isInvalid, isNotFound } from "#kernel/model/index.ts";
import { createHash } from "node:crypto";

/** Prints the output of steps as it arrives, each container once. */
export interface LogStream {
  /**
   * Follows new containers of these steps from their beginning. Cheap to call for every change: only the newest state
   * is looked at.
   */
  see(steps: readonly StepView[]): void;
  /**
   * Looks at the last steps once more and resolves when their output has been printed. Called after the run has ended.
   * False if a log broke off for good, which is reported on stderr.
   */
  close(): Promise<boolean>;
  /** Stops following. Always called in the end. */
  stop(): void;
}

/** `tailLines` counts for each container. */
export interface LogStreamOptions extends Pick<LogOptions, "tailLines" | "timestamps"> {
  /**
   * Puts `step | ` before every line, or `step#2 | ` from the second attempt on. Lines of inner runs always have a
   * prefix.
   */
  readonly prefix: boolean;
  /** Selects logs; when absent, all are followed. */
  readonly isWanted?: (log: StepLog) => boolean;
}

/**
 * A log continues where it broke off when the server is back; one that cannot continue is reported on stderr, and the
 * others go on. Containers that wait to start are not followed yet. Lines of several containers are printed whole, as
 * they arrive.
 */
export function startLogStream(
  client: ApiClient,
  { out, err }: Pick<Environment, "out" | "err">,
  options: LogStreamOptions,
  clock: Clock,
  signal: AbortSignal,
): LogStream {
  const { prefix, isWanted = () => true, ...read } = options;
  const stopped = new AbortController();
  const over = AbortSignal.any([signal, stopped.signal]);
  // Every container's stream listens to it.
  setMaxListeners(0, over);
  // By uid: a recreated Pod has a log of its own.
  const followed = new Set<string>();
  const streams = new Set<Promise<void>>();
  let last: readonly StepView[] = [];
  let looking: Promise<void> = Promise.resolve();
  let later: Cancel | undefined;
  let isClosing = false;
  let isWhole = true;

  async function print(log: StepLog): Promise<void> {
    const lines = new LinePrefixer(prefix || log.inner !== undefined ? `${logName(log)} | ` : "");
    try {
      for await (const chunk of followStepLog(client, log, read, clock, over)) out.write(lines.push(chunk));
    } catch (thrown) {
      if (over.aborted) return;
      isWhole = false;
      err.write(`slipway: ${log.step}: the log of attempt ${log.attempt} broke off: ${messageOf(thrown)}\n`);
    } finally {
      out.write(lines.end());
    }
  }

  /** True if more logs may come without a change of the run. */
  async function follow(steps: readonly StepView[]): Promise<boolean> {
    let isToCome = false;
    for (const step of steps.filter(({ phase }) => phase !== "Pending" && phase !== "Waiting")) {
      const logs = await stepLogs(client, step);
      const isActive = step.phase === "Starting" || step.phase === "Running";
      // The next step of an inner run may begin without a change of the outer run.
      const isInner = logs.some(({ inner }) => inner !== undefined);
      if (isActive && (logs.length === 0 || isInner || !logs.every(({ hasStarted }) => hasStarted))) isToCome = true;
      for (const log of logs.filter(isWanted)) {
        const key = `${log.uid}/${log.container}`;
        if (followed.has(key) || !log.hasStarted) continue;
        followed.add(key);
        const stream: Promise<void> = print(log).finally(() => streams.delete(stream));
        streams.add(stream);
      }
    }
    return isToCome;
  }

  /**
   * One look at a time; a failed one is repeated. Containers may start without a change of the run, so the steps are
   * looked at again until all have started.
   */
  function look(): void {
    looking = looking
      .then(() => follow(last))
      .catch(() => true)
      .then((isToCome) => {
        later?.();
        if (isToCome && !isClosing && !over.aborted) later = clock.after(reconnectMs, look);
      });
  }

  return {
    see(steps) {
      last = steps;
      look();
    },
    async close() {
      isClosing = true;
      later?.();
      await looking;
      await patiently(clock, over, () => follow(last));
      await Promise.all(streams);
      return isWhole;
    },
    stop() {
      later?.();
      stopped.abort();
    },
  };
}

/**
 * The output of one container to its end, every byte once, however often the connection breaks: the log is read again
 * and what was shown is skipped. Empty for a container that never started or is gone. Rejects when the server stays
 * away or refuses, when the container disappears before its end, and when the log has changed (`log-changed`): an
 * incomplete log never ends without an error.
 */
export async function* followStepLog(
  client: Pick<ApiClient, "logs">,
  log: StepLog,
  { tailLines, ...read }: Pick<LogOptions, "tailLines" | "timestamps">,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const patience = new Patience(clock, signal);
  let place: LogPlace | undefined = tailLines === undefined ? logStart : undefined;
  let isFirst = true;
  for (;;) {
    const begun = clock.monotonic();
    let hasAnswered = false;
    let reading: PlacedReading | undefined;
    try {
      place ??= await tailPlace(openStepLog(client, log, { ...read, signal }), tailLines ?? 0);
      reading = new PlacedReading(place);
      for await (const chunk of openStepLog(client, log, { ...read, follow: true, signal })) {
        hasAnswered = true;
        const fresh = reading.take(chunk);
        if (fresh.length === 0) continue;
        patience.forgive();
        yield fresh;
      }
      signal.throwIfAborted();
      reading.end();
      return;
    } catch (thrown) {
      // A container that has not started has no output, and a Pod may be gone: accepted once, before any failure.
      if (isFirst && !hasAnswered && (isInvalid(thrown) || isNotFound(thrown))) return;
      // A connection that lasted resets the patience, even without new output.
      if (hasAnswered && clock.monotonic() - begun > mostFailures * reconnectMs) patience.forgive();
      await patience.after(thrown);
    }
    isFirst = false;
    place = reading?.place();
  }
}

/** A place in a log, identified by the bytes before it: the API has no positions, and timestamps are not unique. */
export interface LogPlace {
  /** The first byte to show. */
  readonly from: number;
  /** The number of bytes from the start, at least `from`, that `digest` covers. */
  readonly length: number;
  readonly digest: string;
}

const algorithm = "sha256";

export const logStart: LogPlace = { from: 0, length: 0, digest: "" };

/** The server keeps a limited length of every log, and a container may have restarted. */
const changed = (): SlipwayError =>
  new SlipwayError("log-changed", "the server no longer has the beginning of the log, so it cannot be continued");

/** Reads a log from its start and shows what follows a place. Fails with `log-changed` for another log. */
export class PlacedReading {
  readonly #start: LogPlace;
  readonly #hash = createHash(algorithm);
  #read = 0;

  constructor(start: LogPlace) {
    this.#start = start;
  }

  /** The part of the chunk to show. Throws before it shows anything of another log. */
  take(chunk: Uint8Array): Uint8Array {
    const unknown = Math.max(0, this.#start.length - this.#read);
    this.#hash.update(chunk.subarray(0, unknown));
    if (unknown > 0 && unknown <= chunk.length && this.#digest() !== this.#start.digest) throw changed();
    this.#hash.update(chunk.subarray(unknown));
    const hidden = Math.max(0, this.#start.from - this.#read);
    this.#read += chunk.length;
    return chunk.subarray(hidden);
  }

  /** Called at the end of the log: one that is shorter than before is another log. */
  end(): void {
    if (this.#read < this.#start.length) throw changed();
  }

  /** Where the next reading continues. */
  place(): LogPlace {
    if (this.#read <= this.#start.from) return this.#start;
    return { from: this.#read, length: this.#read, digest: this.#digest() };
  }

  #digest(): string {
    return this.#hash.copy().digest("hex");
  }
}

const newline = 10;

/**
 * Where the last `lines` lines of a log begin; an incomplete last line counts as one. Reads all of it and keeps one
 * number for each line.
 */
export async function tailPlace(log: AsyncIterable<Uint8Array>, lines: number): Promise<LogPlace> {
  const hash = createHash(algorithm);
  // A ring of the newest starts of lines.
  const starts: number[] = [];
  let count = 0;
  let lineStart = 0;
  let read = 0;
  let digest = "";
  const begin = (at: number): void => {
    if (lines > 0) starts[count % lines] = at;
    count++;
  };
  for await (const chunk of log) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      begin(lineStart);
      from = end + 1;
      lineStart = read + from;
    }
    hash.update(chunk.subarray(0, from));
    // An incomplete line may still change.
    if (from > 0) digest = hash.copy().digest("hex");
    hash.update(chunk.subarray(from));
    read += chunk.length;
  }
  const length = lineStart;
  if (lines > 0 && read > lineStart) begin(lineStart);
  const from = lines <= 0 ? lineStart : count <= lines ? 0 : (starts[count % lines] ?? 0);
  return { from, length, digest };
}
