import {
  type Cancel,
  type Clock,
  codeOf,
  deferred,
  inParallel,
  type Logger,
  messageOf,
  type Millis,
  SlipwayError,
} from "#lib/base/index.ts";
import type { FilePool } from "./file-pool.ts";
import { openSegment, rereadSegment, segmentPath, writeCheckpoint } from "./open-segment.ts";
import { noFacts, Segment, type SegmentSnapshot } from "./segment.ts";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { Changes } from "../results/changes.ts";
import { logError } from "./errors.ts";
import type { NewLine } from "./record.ts";

// Lines are accepted, appended to the page of their segment, written, readable, then synced. At most one write and
// one sync run at a time. After a failure the log is cut to what is certain and read again.

/** Written lines are synced after this time or this many bytes, or at once if somebody waits. */
const flushMs: Millis = 200;
const flushBytes = 4 * 1024 * 1024;
/** `insert` waits while more bytes than this are unwritten. */
const mostWaiting = 8 * 1024 * 1024;
const mostSteps = 10_000;

export interface Inserted {
  readonly inserted: number;
  readonly duplicates: number;
  /** Lines that cannot be kept; absent if there are none. */
  readonly refused?: RefusedLines;
}

interface RefusedLines {
  readonly count: number;
  /** Reason for the first line: `log-gaps` or `log-steps`. */
  readonly reason: SlipwayError;
}

const isRefusal = (thrown: unknown): thrown is SlipwayError =>
  thrown instanceof SlipwayError && (thrown.code === "log-gaps" || thrown.code === "log-steps");

export interface LogParts {
  readonly pool: FilePool;
  readonly clock: Clock;
  readonly log: Logger;
}

/** An empty log if the directory does not exist. */
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

/** The lines of one build by step. Made by `openBuildLog`; must be open only once. */
export class BuildLog {
  readonly buildId: number;
  readonly changes = new Changes();
  readonly #directory: string;
  readonly #parts: LogParts;
  readonly #segments = new Map<number, Segment>();
  readonly #pending = new Set<Segment>();
  readonly #unnamed = new Set<Segment>();
  readonly #checkpoints: Checkpoints;
  #hasDirectory: boolean;
  #accepted: number;
  #readable: number;
  #durable: number;
  #waiting = 0;
  #unflushed = 0;
  #generation = 0;
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #timer: Cancel | undefined;
  readonly #waiters = new DurableWaiters();
  #failure: Error | undefined;
  #repairing: Promise<void> | undefined;
  /** A sync has failed: what was written since the last one may not be on the disk. */
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

  get segments(): Iterable<Segment> {
    return this.#segments.values();
  }

  segment(stepId: number): Segment | undefined {
    return this.#segments.get(stepId);
  }

  get readable(): number {
    return this.#readable;
  }

  get accepted(): number {
    return this.#accepted;
  }

  /** Changes when lines were cut off, which invalidates places. */
  get generation(): number {
    return this.#generation;
  }

  /** Number of times that accepted lines were lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Accepts lines in order and gives new ones the next logId. They become readable soon and synced later, see
   * `flushed`. Rejects with `log-lost` while the disk fails. */
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

  /** False for a known line. Throws `log-gaps` and `log-steps`. */
  #accept(line: NewLine): boolean {
    // Unnumbered lines are in segment 0.
    const segment = this.#segmentFor(line.workerLogId === 0 ? 0 : line.stepId);
    const before = segment.waiting;
    if (!segment.accept(line, () => ++this.#accepted)) return false;
    this.#waiting += segment.waiting - before;
    this.#pending.add(segment);
    return true;
  }

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

  /** Resolves when all accepted lines are readable; rejects with `log-lost`. */
  async written(): Promise<void> {
    const upTo = this.#accepted;
    while (this.#readable < upTo && this.#writing !== undefined) await this.#writing;
    this.#check();
  }

  /** Resolves when all accepted lines are synced; rejects with `log-lost`. */
  async flushed(): Promise<void> {
    this.#check();
    if (this.#durable >= this.#accepted) return;
    const done = this.#waiters.wait(this.#accepted);
    this.#flushSoon();
    await done;
  }

  /** Syncs and writes checkpoints, so that the next opening reads little. */
  async close(): Promise<void> {
    // A failed flush was logged and reported to its waiters.
    await this.flushed().catch(() => undefined);
    await Promise.allSettled([this.#writing, this.#flushing]);
    this.#timer?.();
    if (this.#failure === undefined && !this.#removed) await this.#checkpoints.writeAll(this.#segments.values());
    this.changes.close(logError("log-closed", `log of build ${this.buildId}: closed`));
  }

  /** Rejects writers and followers. The caller removes the files afterwards. */
  async remove(): Promise<void> {
    this.#removed = true;
    const reason = logError("log-removed", `log of build ${this.buildId}: removed`);
    this.changes.close(reason);
    this.#failure = reason;
    this.#drop(reason);
    await Promise.allSettled([this.#writing, this.#flushing, this.#repairing]);
    this.#timer?.();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(): Promise<void> {
    // Collects lines of the same turn.
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

  /** New files survive power loss only if their directory is synced. */
  async #flushNames(segments: readonly Segment[]): Promise<void> {
    const unnamed = segments.filter((segment) => this.#unnamed.has(segment));
    if (unnamed.length === 0) return;
    for (const path of [this.#directory, dirname(this.#directory)]) await flushDirectory(path);
    for (const segment of unnamed) this.#unnamed.delete(segment);
  }

  /** Rejects waiters; the next `insert` repairs the log. */
  #fail(thrown: unknown, isFlush = false): void {
    this.#isDoubtful ||= isFlush;
    if (this.#failure !== undefined) return;
    this.#losses++;
    const problem = `log of build ${this.buildId}: cannot write to ${this.#directory}: ${messageOf(thrown)}`;
    this.#failure = logError("log-lost", problem, { cause: thrown });
    this.#parts.log.error("lines of a build were lost", { build: this.buildId, error: messageOf(thrown) });
    this.#drop(this.#failure);
  }

  #drop(reason: Error): void {
    this.#waiters.fail(reason);
    this.#pending.clear();
    this.#checkpoints.clear();
    this.#waiting = 0;
  }

  /** Cuts off partial writes, and after a failed sync everything since the last one, then reads the files. logIds
   * continue, so that none is given twice. */
  #repair(): Promise<void> {
    if (this.#removed) return Promise.reject(this.#failure);
    this.#repairing ??= (async () => {
      await Promise.allSettled([this.#writing, this.#flushing]);
      const { pool, log } = this.#parts;
      // Before the first cut and after the last one, so that readers in between notice.
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

/** Bytes to read again after a crash. */
const bytesApart = 64 * 1024 * 1024;

/** Records the state of segments. Failures only slow down the next opening. */
class Checkpoints {
  readonly #pool: FilePool;
  readonly #log: Logger;
  readonly #due = new Map<Segment, SegmentSnapshot>();

  constructor(pool: FilePool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Call before pending lines are taken: the snapshot describes the file after this write. */
  note(segment: Segment): void {
    if (this.#due.has(segment) || segment.bytes + segment.waiting - segment.checkpointed < bytesApart) return;
    this.#due.set(segment, segment.snapshot());
  }

  /** A checkpoint must not be ahead of the synced file. */
  async writeDue(): Promise<void> {
    for (const [segment, snapshot] of this.#due) {
      if (snapshot.bytes > segment.durable) continue;
      this.#due.delete(segment);
      await this.#write(segment, snapshot);
    }
  }

  async writeAll(segments: Iterable<Segment>): Promise<void> {
    const grown = [...segments].filter(({ bytes, checkpointed }) => bytes > checkpointed);
    await inParallel(grown, (segment) => this.#write(segment, segment.snapshot()));
  }

  clear(): void {
    this.#due.clear();
  }

  async #write(segment: Segment, snapshot: SegmentSnapshot): Promise<void> {
    await writeCheckpoint(segment, snapshot, this.#pool).catch((thrown: unknown) =>
      this.#log.warn("checkpoint of a log was not written", { path: segment.path, error: messageOf(thrown) }),
    );
  }
}

class DurableWaiters {
  #waiters: { readonly upTo: number; readonly done: ReturnType<typeof deferred<void>> }[] = [];

  wait(upTo: number): Promise<void> {
    const done = deferred<void>();
    this.#waiters.push({ upTo, done });
    return done.promise;
  }

  /** True if a flush up to `logId` would satisfy a waiter. */
  hasUpTo(logId: number): boolean {
    const [first] = this.#waiters;
    return first !== undefined && first.upTo <= logId;
  }

  settle(logId: number): void {
    for (const { upTo, done } of this.#waiters) if (upTo <= logId) done.resolve();
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > logId);
  }

  fail(reason: Error): void {
    for (const { done } of this.#waiters) done.reject(reason);
    this.#waiters = [];
  }
}
