import { aborted, type Deferred, deferred, type Instant } from "#lib/base/index.ts";
import { LineStamper } from "./line-stamper.ts";
import type { Rotation } from "./log-files.ts";
import { mostExtra, ReceivedFiles } from "./received-files.ts";
import { nothingReceived, readReceived, type ReceivedState, writeReceived } from "./received-state.ts";
import type { LogStream } from "./record.ts";

// The way of a chunk: accepted -> one write for all that gathered -> readable -> one flush for all that was written -> durable. One write and one
// flush are under way at most, side by side; whoever comes meanwhile shares the next one.

/** Output of another machine. */
export interface ReceivedChunk {
  /** Counts the chunks of a source from 1. */
  readonly seq: number;
  readonly stream: LogStream;
  /** When it was printed, by the clock of the machine that printed it. */
  readonly at: Instant;
  /** Lines, or a part of one. Empty: nothing more comes. */
  readonly data: Buffer;
}

/** How far a log is. */
interface Reached {
  /** Of all that was accepted since the log was opened. */
  readonly count: number;
  /** Files that were begun since, up to the one of the state. */
  readonly rotations: number;
  readonly state: ReceivedState;
}

/** A chunk that waits to be written. */
interface Waiting extends Pick<ReceivedState, "source" | "seq" | "isEnded"> {
  readonly bytes: Buffer;
  readonly at: Instant;
  readonly written: Deferred<void>;
}

/**
 * A log that arrives in numbered chunks, in files that `readLogs` reads. Each chunk is written once, however often it is sent and
 * wherever a crash comes in between: what was written behind the last `commit` is taken back when the log is opened again, and the
 * sender has it still.
 *
 * One at a time for a path; many may bring chunks to it at once. After a rejection it is of no use but to be closed.
 */
export class ReceivedLog {
  readonly #path: string;
  readonly #files: ReceivedFiles;
  #waiting: Waiting[] = [];
  /** The last that was accepted. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #accepted: Pick<ReceivedState, "source" | "seq"> & { readonly count: number };
  /** What is in the files, durable or not. */
  #written: Reached;
  #durable: Reached;
  /** Files that were begun since the log was opened. Told with what is written to them: until then a flush makes nothing of them durable. */
  #begun = 0;
  /** Under way; neither rejects. */
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  /** Who waits for chunks that others bring. */
  #change: Deferred<void> = deferred();
  /** What is in the files since is not known. */
  #failure: { readonly thrown: unknown } | undefined;

  private constructor(path: string, files: ReceivedFiles, state: ReceivedState) {
    this.#path = path;
    this.#files = files;
    this.#accepted = { source: state.source, seq: state.seq, count: 0 };
    this.#written = this.#durable = { count: 0, rotations: 0, state };
  }

  /** Takes back what was never acknowledged. Files are made by the first chunk. */
  static async open(path: string, rotation: Rotation): Promise<ReceivedLog> {
    const state = (await readReceived(path)) ?? nothingReceived;
    return new ReceivedLog(path, await ReceivedFiles.open(path, rotation, state), state);
  }

  /** The number after which a source goes on; 0 for one that is new here. */
  seqOf(source: string): number {
    return this.#accepted.source === source ? this.#accepted.seq : 0;
  }

  /** The number up to which no crash can undo what a source has sent; 0 for one of which nothing is durable. */
  durableSeqOf(source: string): number {
    const { state } = this.#durable;
    return state.source === source ? state.seq : 0;
  }

  /**
   * Accepts the chunk at once, and resolves when it can be read. One that was here before, or that does not follow the one before, is passed
   * over; a new source takes the place of the one before with its first chunk. Answers the bytes that the log grows by.
   */
  async append(source: string, chunk: ReceivedChunk): Promise<number> {
    this.#check();
    if (chunk.seq !== this.seqOf(source) + 1) return 0;
    const bytes = recordsOf(chunk);
    await this.#accept({ source, seq: chunk.seq, isEnded: bytes.length === 0, bytes, at: chunk.at });
    return bytes.length;
  }

  /** Resolves when everything up to that number of a source was accepted, the signal aborts, or the log fails. */
  async arrived(source: string, seq: number, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => this.seqOf(source) >= seq || this.#failure !== undefined || signal.aborted;
    if (isOver()) return;
    const gone = aborted(signal);
    while (!isOver()) await Promise.race([this.#change.promise, gone]);
  }

  /** Resolves when no crash can undo what was appended before. */
  async commit(): Promise<void> {
    const { count } = this.#accepted;
    await this.#last;
    while (this.#durable.count < count && this.#failure === undefined) await this.#flush();
    // Whoever opens the log anew must not find it still being written.
    if (this.#failure !== undefined) await this.#rest();
    this.#check();
  }

  /** Nothing more is expected, whoever says so. Durable when it resolves. */
  async end(): Promise<void> {
    this.#check();
    const { source, seq } = this.#accepted;
    await this.#accept({ source, seq, isEnded: true, bytes: Buffer.alloc(0), at: 0 });
    await this.commit();
  }

  /** Whether readers find what was written here; nobody else may have removed it. */
  isThere(): Promise<boolean> {
    return this.#files.isThere();
  }

  /** Commits nothing. The last call. */
  async close(): Promise<void> {
    await this.#rest();
    try {
      if (this.#failure === undefined) await this.#files.prune(this.#unflushed);
    } finally {
      await this.#files.close();
    }
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  async #rest(): Promise<void> {
    while (this.#writing !== undefined || this.#flushing !== undefined)
      await Promise.all([this.#writing, this.#flushing]);
  }

  #accept(piece: Omit<Waiting, "written">): Promise<void> {
    const written = deferred<void>();
    this.#waiting.push({ ...piece, written });
    this.#last = written.promise.catch(() => undefined);
    this.#accepted = { source: piece.source, seq: piece.seq, count: this.#accepted.count + 1 };
    this.#writing ??= this.#writeAll();
    this.#tell();
    return written.promise;
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = deferred();
  }

  /** Rotations that no flush has caught up with. */
  get #unflushed(): number {
    return this.#begun - this.#durable.rotations;
  }

  async #writeAll(): Promise<void> {
    // What comes in the same turn is one write.
    await Promise.resolve();
    try {
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#write(batch);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#writing = undefined;
    }
  }

  /** As much as the file has room for, but something. */
  #take(): readonly Waiting[] {
    let { room } = this.#files;
    if (this.#failure !== undefined) return [];
    let taken = 0;
    for (const { bytes } of this.#waiting) {
      room -= bytes.length;
      if (taken > 0 && room < 0) break;
      taken++;
    }
    return this.#waiting.splice(0, taken);
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const [first, last] = [batch[0], batch.at(-1)];
    if (first === undefined || last === undefined) return;
    try {
      if (first.bytes.length > this.#files.room) await this.#rotate(first.at);
      const parts = batch.flatMap(({ bytes }) => (bytes.length === 0 ? [] : [bytes]));
      if (parts.length > 0) await this.#files.write(parts);
      const { source, seq, isEnded } = last;
      const state = { ...this.#files.end, source, seq, isEnded };
      this.#written = { count: this.#written.count + batch.length, rotations: this.#begun, state };
      for (const { written } of batch) written.resolve();
    } catch (thrown) {
      for (const { written } of batch) written.reject(thrown);
      throw thrown;
    }
  }

  /** What is durable stays, however much is written after it: files go when what has taken their place has been flushed. */
  async #rotate(at: Instant): Promise<void> {
    while (this.#unflushed >= mostExtra && this.#failure === undefined) await this.#flush();
    this.#check();
    await this.#files.prune(this.#unflushed);
    await this.#files.rotate(at);
    this.#begun++;
  }

  /** One at a time: who finds one under way waits for its end, and then perhaps for the next. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#flushWritten().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flushWritten(): Promise<void> {
    const reached = this.#written;
    try {
      await this.#files.flush();
      await writeReceived(this.#path, reached.state);
      this.#durable = reached;
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    for (const { written } of this.#waiting.splice(0)) written.reject(thrown);
    this.#tell();
  }
}

/** Pieces without an end are joined again by who reads. */
function recordsOf({ stream, at, data }: ReceivedChunk): Buffer {
  const stamper = new LineStamper(stream);
  const lines = stamper.stamp(data, at);
  const rest = stamper.flush(at);
  return rest.records === 0 ? lines.bytes : Buffer.concat([lines.bytes, rest.bytes]);
}
