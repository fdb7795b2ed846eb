import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type Cancel,
  type Clock,
  hasCode,
  inParallel,
  type Logger,
  messageOf,
  type Millis,
  recover,
  SlipwayError,
} from "#lib/base/index.ts";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { GroupCommit } from "#kernel/streams/index.ts";
import { Changes } from "../results/changes.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { openSegment, segmentPath } from "./open-segment.ts";
import type { NewLine } from "./record.ts";
import { noFacts, Segment } from "./segment.ts";

// Lines are accepted, appended to the page of their segment, written, readable, then synced. After a failure the log
// must be opened again.

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

/** An empty log if the directory does not exist. `onFailure` is called once, when the log must be closed. */
export async function openBuildLog(
  buildId: number,
  directory: string,
  parts: LogParts,
  onFailure: () => void,
): Promise<BuildLog> {
  const names = await readdir(directory).catch(recover(hasCode("ENOENT"), undefined));
  const stepIds = (names ?? []).flatMap((name) =>
    /^(?:0|[1-9]\d{0,15})\.log$/.test(name) ? [Number.parseInt(name, 10)] : [],
  );
  const segments: Segment[] = [];
  await inParallel(stepIds, async (stepId) => {
    segments.push(await openSegment(directory, stepId, parts.pool, parts.log));
  });
  return new BuildLog(buildId, directory, segments, parts, onFailure);
}

/** The lines of one build by step. Made by `openBuildLog`; must be open only once. */
export class BuildLog {
  readonly buildId: number;
  readonly changes = new Changes();
  readonly #directory: string;
  readonly #parts: LogParts;
  readonly #onFailure: () => void;
  readonly #segments = new Map<number, Segment>();
  readonly #unnamed = new Set<Segment>();
  readonly #commit: GroupCommit<Segment>;
  #accepted: number;
  #readable: number;
  #waiting = 0;
  #unflushed = 0;
  /** Resolves when all accepted lines are readable. */
  #written: Promise<void> = Promise.resolve();
  #timer: Cancel | undefined;
  /** Why nothing more is taken. */
  #failure: Error | undefined;
  #mended: Promise<void> = Promise.resolve();

  constructor(
    buildId: number,
    directory: string,
    segments: readonly Segment[],
    parts: LogParts,
    onFailure: () => void,
  ) {
    this.buildId = buildId;
    this.#directory = directory;
    this.#parts = parts;
    this.#onFailure = onFailure;
    for (const segment of segments) this.#segments.set(segment.stepId, segment);
    this.#accepted = this.#readable = Math.max(0, ...segments.map(({ lastLogId }) => lastLogId));
    this.#commit = new GroupCommit({
      write: (batch) => this.#write(new Set(batch)),
      flush: () => this.#flush(),
      onFailure: () => this.#timer?.(),
    });
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

  /** Accepts lines in order and gives new ones the next logId. They become readable soon and synced later, see
   * `flushed`. Rejects with `log-lost` once the disk has failed. */
  async insert(lines: readonly NewLine[]): Promise<Inserted> {
    while (this.#waiting > mostWaiting) await this.written();
    this.#check();
    let inserted = 0;
    let refused: RefusedLines | undefined;
    const changed = new Set<Segment>();
    try {
      for (const line of lines) {
        try {
          if (this.#accept(line, changed)) inserted++;
        } catch (thrown) {
          if (!isRefusal(thrown)) throw thrown;
          refused = { count: (refused?.count ?? 0) + 1, reason: refused?.reason ?? thrown };
        }
      }
    } finally {
      for (const segment of changed) this.#written = this.#commit.accept(segment);
    }
    const duplicates = lines.length - inserted - (refused?.count ?? 0);
    return { inserted, duplicates, ...(refused === undefined ? {} : { refused }) };
  }

  /** False for a known line. Throws `log-gaps` and `log-steps`. */
  #accept(line: NewLine, changed: Set<Segment>): boolean {
    // Unnumbered lines are in segment 0.
    const segment = this.#segmentFor(line.workerLogId === 0 ? 0 : line.stepId);
    const before = segment.waiting;
    if (!segment.accept(line, () => ++this.#accepted)) return false;
    this.#waiting += segment.waiting - before;
    changed.add(segment);
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
    await this.#written;
    this.#check();
  }

  /** Resolves when all accepted lines are synced; rejects with `log-lost`. */
  async flushed(): Promise<void> {
    this.#check();
    await this.#commit.commit();
    this.#check();
  }

  async close(): Promise<void> {
    // A failure was logged and reported to those who wait.
    await this.flushed().catch(() => undefined);
    await this.#rest();
    this.changes.close(logError("log-closed", `log of build ${this.buildId}: closed`));
  }

  /** Rejects writers and followers. The caller removes the files afterwards. */
  async remove(): Promise<void> {
    this.#failure = logError("log-removed", `log of build ${this.buildId}: removed`);
    this.changes.close(this.#failure);
    await this.#rest();
  }

  async #rest(): Promise<void> {
    await this.#commit.rest();
    await this.#mended;
    this.#timer?.();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(segments: ReadonlySet<Segment>): Promise<void> {
    this.#check();
    const upTo = this.#accepted;
    const parts = Array.from(segments, (segment) => ({ segment, bytes: segment.take() }));
    try {
      if (this.#unnamed.size > 0) await makeDirectories(this.#directory, 0o700);
      await inParallel(parts, ({ segment, bytes }) =>
        this.#parts.pool.use(segment.path, async (handle) => {
          for (let at = 0; at < bytes.length; )
            at += (await handle.write(bytes, at, bytes.length - at, segment.bytes + at)).bytesWritten;
        }),
      );
    } catch (thrown) {
      throw this.#lose(thrown);
    }
    for (const { segment, bytes } of parts) {
      segment.bytes += bytes.length;
      this.#waiting -= bytes.length;
      this.#unflushed += bytes.length;
    }
    this.#readable = upTo;
    this.changes.tell();
    if (this.#unflushed >= flushBytes) void this.#commit.flush();
    else
      this.#timer ??= this.#parts.clock.after(flushMs, () => {
        this.#timer = undefined;
        void this.#commit.flush();
      });
  }

  async #flush(): Promise<void> {
    this.#unflushed = 0;
    const ends = [...this.#segments.values()]
      .filter(({ bytes, durable }) => bytes > durable)
      .map((segment) => ({ segment, end: segment.bytes }));
    try {
      await inParallel(ends, ({ segment }) => this.#parts.pool.use(segment.path, (handle) => handle.datasync()));
      await this.#flushNames(ends.map(({ segment }) => segment));
    } catch (thrown) {
      this.#mended = this.#commit.rest().then(() => this.#cut());
      throw this.#lose(thrown);
    }
    for (const { segment, end } of ends) segment.durable = end;
  }

  /** New files survive power loss only if their directory is synced. */
  async #flushNames(segments: readonly Segment[]): Promise<void> {
    const unnamed = segments.filter((segment) => this.#unnamed.has(segment));
    if (unnamed.length === 0) return;
    for (const path of [this.#directory, dirname(this.#directory)]) await flushDirectory(path);
    for (const segment of unnamed) this.#unnamed.delete(segment);
  }

  #lose(thrown: unknown): Error {
    if (this.#failure !== undefined) return this.#failure;
    const problem = `log of build ${this.buildId}: cannot write to ${this.#directory}: ${messageOf(thrown)}`;
    this.#failure = logError("log-lost", problem, {
      hint: "send the lines again; those that are already stored are skipped",
      cause: thrown,
    });
    this.#parts.log.error("lines of a build were lost", { build: this.buildId, error: messageOf(thrown) });
    this.changes.close(this.#failure);
    this.#onFailure();
    return this.#failure;
  }

  /** After a failed sync, what was written since the last one may be in the cache alone, where the next opening would
   * find it. */
  async #cut(): Promise<void> {
    const doubtful = [...this.#segments.values()].filter(({ bytes, durable }) => bytes > durable);
    await inParallel(doubtful, ({ path, durable }) =>
      this.#parts.pool.use(path, async (handle) => {
        await handle.truncate(durable);
        await handle.datasync();
      }),
    ).catch((thrown: unknown) =>
      this.#parts.log.error("lines that were lost may be left", { build: this.buildId, error: messageOf(thrown) }),
    );
  }
}
