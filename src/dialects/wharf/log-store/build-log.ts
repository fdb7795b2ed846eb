import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type Cancel,
  type Clock,
  codeOf,
  inParallel,
  type Logger,
  messageOf,
  type Millis,
  SlipwayError,
} from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { Changes } from "../results/changes.ts";
import { Checkpoints } from "./checkpoints.ts";
import { DurableWaiters } from "./durable-waiters.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { flushDirectory } from "./flush-directory.ts";
import { openSegment, rereadSegment, segmentPath } from "./open-segment.ts";
import type { NewLine } from "./record.ts";
import { noFacts, Segment } from "./segment.ts";

// The way of a line: accept -> page of its segment -> one write for all that gathered -> readable -> one flush for all that was written.
// One write and one flush are under way at most, side by side. What one of them fails on is cut off, and the truth is read from the files.

/** What was written is flushed after so long or so many bytes, or at once when somebody waits for it. */
const flushMs: Millis = 200;
const flushBytes = 4 * 1024 * 1024;
/** Accepted lines that wait to be written, of one build: beyond this `insert` waits. */
const mostWaiting = 8 * 1024 * 1024;
/** Of one build. */
const mostSteps = 10_000;

export interface Inserted {
  readonly inserted: number;
  /** They were there already. */
  readonly duplicates: number;
  /** Lines that were passed over because as things are they cannot be kept; absent when there are none. */
  readonly refused?: RefusedLines;
}

export interface RefusedLines {
  readonly count: number;
  /** Of the first: `log-gaps` or `log-steps`. */
  readonly reason: SlipwayError;
}

/** It is the line that is refused, and no fault of the disk. */
const isRefusal = (thrown: unknown): thrown is SlipwayError =>
  thrown instanceof SlipwayError && (thrown.code === "log-gaps" || thrown.code === "log-steps");

/** What the logs of all builds share. */
export interface LogParts {
  /** Files of segments; opened when they are needed. */
  readonly pool: FilePool;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Opens the log of a build, an empty one where there is no directory. */
export async function openBuildLog(buildId: number, directory: string, parts: LogParts): Promise<BuildLog> {
  const names = await readdir(directory).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  const stepIds = (names ?? []).flatMap((name) =>
    /^(?:0|[1-9]\d{0,15})\.log$/.test(name) ? [Number.parseInt(name, 10)] : [],
  );
  const segments: Segment[] = [];
  await inParallel(stepIds, async (stepId) => {
    segments.push(await openSegment(directory, stepId, parts.pool, parts.log));
  });
  return new BuildLog(buildId, directory, segments, names !== undefined, parts);
}

/** The lines of one build, by step. Made by `openBuildLog`; one process has it open, once. */
export class BuildLog {
  readonly buildId: number;
  /** Told when lines can be read. */
  readonly changes = new Changes();
  /** Made by the first write. */
  readonly #directory: string;
  readonly #parts: LogParts;
  readonly #segments = new Map<number, Segment>();
  /** Segments with lines that wait to be written, and those whose names are not on the disk yet. */
  readonly #pending = new Set<Segment>();
  readonly #unnamed = new Set<Segment>();
  readonly #checkpoints: Checkpoints;
  #hasDirectory: boolean;
  /** The last logId that was given, that can be read, that is on the disk. */
  #accepted: number;
  #readable: number;
  #durable: number;
  /** Bytes that wait to be written, and bytes written since the last flush began. */
  #waiting = 0;
  #unflushed = 0;
  #generation = 0;
  /** Under way; neither rejects. */
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #timer: Cancel | undefined;
  readonly #waiters = new DurableWaiters();
  /** Lines were lost; the files say which. Undefined again when they have been read. */
  #failure: Error | undefined;
  #repairing: Promise<void> | undefined;
  /** A flush has failed: nobody knows whether what was written since the last one is on the disk, or ever will be. */
  #isDoubtful = false;
  #losses = 0;
  #removed = false;

  constructor(
    buildId: number,
    directory: string,
    segments: readonly Segment[],
    hasDirectory: boolean,
    parts: LogParts,
  ) {
    this.buildId = buildId;
    this.#directory = directory;
    this.#hasDirectory = hasDirectory;
    this.#parts = parts;
    this.#checkpoints = new Checkpoints(parts.pool, parts.log);
    for (const segment of segments) this.#segments.set(segment.stepId, segment);
    this.#accepted = Math.max(0, ...segments.map(({ lastLogId }) => lastLogId));
    this.#readable = this.#durable = this.#accepted;
  }

  /** By step, as they are found. */
  get segments(): Iterable<Segment> {
    return this.#segments.values();
  }

  /** Of a step that has lines. */
  segment(stepId: number): Segment | undefined {
    return this.#segments.get(stepId);
  }

  /** The logId up to which lines can be read. */
  get readable(): number {
    return this.#readable;
  }

  /** The last logId that was given. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Grows when lines were cut off: places of before mean nothing then. */
  get generation(): number {
    return this.#generation;
  }

  /** How often accepted lines were lost: who brings some looks before and after. */
  get losses(): number {
    return this.#losses;
  }

  /**
   * Accepts lines in their order: each that is not there yet gets the next logId. They are in memory then, readable soon, on the disk a
   * little later; `flushed` waits for that. A line that cannot be kept keeps out no other one. Rejects with `log-lost` while the disk takes
   * nothing.
   */
  async insert(lines: readonly NewLine[]): Promise<Inserted> {
    if (this.#failure !== undefined) await this.#repair();
    while (this.#waiting > mostWaiting && this.#writing !== undefined) await this.#writing;
    this.#check();
    let inserted = 0;
    let refused: RefusedLines | undefined;
    try {
      for (const line of lines) {
        try {
          if (this.#accept(line)) inserted++;
        } catch (thrown) {
          if (!isRefusal(thrown)) throw thrown;
          refused = { count: (refused?.count ?? 0) + 1, reason: refused?.reason ?? thrown };
        }
      }
    } finally {
      if (this.#pending.size > 0) this.#writing ??= this.#write();
    }
    const duplicates = lines.length - inserted - (refused?.count ?? 0);
    return { inserted, duplicates, ...(refused === undefined ? {} : { refused }) };
  }

  /** False when it is there already. Throws `log-gaps` and `log-steps`. */
  #accept(line: NewLine): boolean {
    // A line without a number of its own has no place in the log of a step.
    const segment = this.#segmentFor(line.workerLogId === 0 ? 0 : line.stepId);
    const before = segment.waiting;
    if (!segment.accept(line, () => ++this.#accepted)) return false;
    this.#waiting += segment.waiting - before;
    this.#pending.add(segment);
    return true;
  }

  /** A new one has no file until something is written to it. */
  #segmentFor(stepId: number): Segment {
    const known = this.#segments.get(stepId);
    if (known !== undefined) return known;
    if (this.#segments.size >= mostSteps)
      throw logError(
        "log-steps",
        `build ${this.buildId}: expected at most ${mostSteps} steps, step ${stepId} is one more`,
      );
    const segment = new Segment(stepId, segmentPath(this.#directory, stepId), noFacts());
    this.#segments.set(stepId, segment);
    this.#unnamed.add(segment);
    return segment;
  }

  /** Resolves when every line that was accepted before can be read; rejects with `log-lost` when one cannot. */
  async written(): Promise<void> {
    const upTo = this.#accepted;
    while (this.#readable < upTo && this.#writing !== undefined) await this.#writing;
    this.#check();
  }

  /** Resolves when every line that was accepted before is on the disk; rejects with `log-lost` when one is not. */
  async flushed(): Promise<void> {
    this.#check();
    if (this.#durable >= this.#accepted) return;
    const done = this.#waiters.wait(this.#accepted);
    this.#flushSoon();
    await done;
  }

  /** Everything on the disk, and a checkpoint of each segment, so that the next opening reads little. */
  async close(): Promise<void> {
    // What could not be flushed was logged as lost, and told to who waits for it.
    await this.flushed().catch(() => undefined);
    await Promise.allSettled([this.#writing, this.#flushing]);
    this.#timer?.();
    if (this.#failure === undefined && !this.#removed) await this.#checkpoints.writeAll(this.#segments.values());
    this.changes.close(logError("log-closed", `log of build ${this.buildId}: closed`));
  }

  /** Takes nothing any more, and cuts off whoever follows. The files are the caller's to remove, when what was under way has ended. */
  async remove(): Promise<void> {
    this.#removed = true;
    const reason = logError("log-removed", `log of build ${this.buildId}: removed`);
    this.changes.close(reason);
    this.#failure = reason;
    this.#drop(reason);
    await Promise.allSettled([this.#writing, this.#flushing, this.#repairing]);
    this.#timer?.();
  }

  /** Throws while nothing can be kept. */
  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** One write at a time, of all that waits. */
  async #write(): Promise<void> {
    // What comes in the same turn is written at once.
    await Promise.resolve();
    try {
      if (!this.#hasDirectory) await makeDirectories(this.#directory, 0o700);
      this.#hasDirectory = true;
      while (this.#pending.size > 0 && this.#failure === undefined) await this.#writePending();
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#writing = undefined;
    }
    this.#flushSoon();
  }

  /** All segments become readable at once: a follower by logId must not meet a line before one with a lower number. */
  async #writePending(): Promise<void> {
    const upTo = this.#accepted;
    const parts = [...this.#pending].map((segment) => {
      this.#checkpoints.note(segment);
      return { segment, bytes: segment.take() };
    });
    this.#pending.clear();
    await inParallel(parts, ({ segment, bytes }) =>
      this.#parts.pool.use(segment.path, async (handle) => {
        for (let at = 0; at < bytes.length; )
          at += (await handle.write(bytes, at, bytes.length - at, segment.bytes + at)).bytesWritten;
      }),
    );
    if (this.#failure !== undefined) return;
    for (const { segment, bytes } of parts) {
      segment.bytes += bytes.length;
      this.#waiting -= bytes.length;
      this.#unflushed += bytes.length;
    }
    this.#readable = upTo;
    this.changes.tell();
    this.#flushSoon();
  }

  /** Now, when somebody waits or much is at stake; else a little later. */
  #flushSoon(): void {
    if (this.#flushing !== undefined || this.#failure !== undefined || this.#durable >= this.#readable) return;
    const isDue = this.#waiters.hasUpTo(this.#readable) || this.#unflushed >= flushBytes;
    if (isDue) {
      this.#timer?.();
      this.#timer = undefined;
      this.#flushing = this.#flush();
    } else
      this.#timer ??= this.#parts.clock.after(flushMs, () => {
        this.#timer = undefined;
        if (this.#failure === undefined) this.#flushing ??= this.#flush();
      });
  }

  /** What is written while it is under way is for the next one. */
  async #flush(): Promise<void> {
    const upTo = this.#readable;
    this.#unflushed = 0;
    const ends = [...this.#segments.values()]
      .filter(({ bytes, durable }) => bytes > durable)
      .map((segment) => ({ segment, end: segment.bytes }));
    try {
      await inParallel(ends, ({ segment }) => this.#parts.pool.use(segment.path, (handle) => handle.datasync()));
      await this.#flushNames(ends.map(({ segment }) => segment));
      for (const { segment, end } of ends) segment.durable = end;
      this.#durable = Math.max(this.#durable, upTo);
      this.#waiters.settle(upTo);
      await this.#checkpoints.writeDue();
    } catch (thrown) {
      this.#fail(thrown, true);
    } finally {
      this.#flushing = undefined;
    }
    this.#flushSoon();
  }

  /** A new file is there after a power cut only when the directory says so. */
  async #flushNames(segments: readonly Segment[]): Promise<void> {
    const unnamed = segments.filter((segment) => this.#unnamed.has(segment));
    if (unnamed.length === 0) return;
    for (const path of [this.#directory, dirname(this.#directory)]) await flushDirectory(path);
    for (const segment of unnamed) this.#unnamed.delete(segment);
  }

  /** Who waits is told; what was accepted and is not in the files is gone. The next insertion looks what there is. */
  #fail(thrown: unknown, isFlush = false): void {
    this.#isDoubtful ||= isFlush;
    if (this.#failure !== undefined) return;
    this.#losses++;
    const problem = `log of build ${this.buildId}: cannot write to ${this.#directory}: ${messageOf(thrown)}`;
    this.#failure = logError("log-lost", problem, { cause: thrown });
    this.#parts.log.error("lines of a build were lost", { build: this.buildId, error: messageOf(thrown) });
    this.#drop(this.#failure);
  }

  /** Forgets what waits, and tells who waits for it. */
  #drop(reason: Error): void {
    this.#waiters.fail(reason);
    this.#pending.clear();
    this.#checkpoints.clear();
    this.#waiting = 0;
  }

  /**
   * Cuts off what is no whole write, and after a flush that failed everything since the last one; then reads what there is. logIds go on
   * where they were, so that none is given twice.
   */
  #repair(): Promise<void> {
    if (this.#removed) return Promise.reject(this.#failure);
    this.#repairing ??= (async () => {
      await Promise.allSettled([this.#writing, this.#flushing]);
      const { pool, log } = this.#parts;
      // Before the first cut and after the last one: who reads between them finds out that it was not the disk.
      this.#generation++;
      try {
        if (!this.#hasDirectory) await makeDirectories(this.#directory, 0o700);
        await inParallel([...this.#segments.values()], (segment) =>
          rereadSegment(segment, this.#isDoubtful ? segment.durable : segment.bytes, pool, log),
        );
        this.#isDoubtful = false;
        this.#generation++;
        this.#unflushed = 0;
        this.#readable = this.#durable = this.#accepted;
        if (!this.#removed) this.#failure = undefined;
        this.changes.tell();
      } catch (thrown) {
        const problem = `log of build ${this.buildId}: cannot read ${this.#directory}: ${messageOf(thrown)}`;
        throw logError("log-lost", problem, { cause: thrown });
      } finally {
        this.#repairing = undefined;
      }
    })();
    return this.#repairing;
  }
}
