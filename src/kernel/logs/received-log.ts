import { aborted, type Deferred, deferred, type Instant } from "#lib/base/index.ts";
import { LineStamper } from "./line-stamper.ts";
import type { Rotation } from "./log-files.ts";
import { mostExtra, ReceivedFiles } from "./received-files.ts";
import { nothingReceived, readReceived, type ReceivedState, writeReceived } from "./received-state.ts";
import type { LogStream } from "./record.ts";

// A chunk is accepted, written, readable, flushed, durable. At most one write and one flush are in progress; chunks
// that arrive meanwhile share the next one.

export interface ReceivedChunk {
  /** Counts the chunks of a source from 1. */
  readonly seq: number;
  readonly stream: LogStream;
  /** When it was printed, by that machine's clock. */
  readonly at: Instant;
  /** Lines, or a part of one. Empty: the log is complete. */
  readonly data: Buffer;
}

interface Reached {
  /** Chunks accepted since the log was opened. */
  readonly count: number;
  /** Files begun since, up to that of the state. */
  readonly rotations: number;
  readonly state: ReceivedState;
}

interface Waiting extends Pick<ReceivedState, "source" | "seq" | "isEnded"> {
  readonly bytes: Buffer;
  readonly at: Instant;
  readonly written: Deferred<void>;
}

/**
 * A log that arrives in numbered chunks, readable by `readLogs`. Each chunk is written once, however often it is sent:
 * what was written behind the last `commit` is removed when the log is opened again, and the sender still has it. One
 * at a time for a path; concurrent appends are fine. After a rejection it must be closed.
 */
export class ReceivedLog {
  readonly #path: string;
  readonly #files: ReceivedFiles;
  #waiting: Waiting[] = [];
  /** The last accepted chunk. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #accepted: Pick<ReceivedState, "source" | "seq"> & { readonly count: number };
  /** What is in the files, durable or not. */
  #written: Reached;
  #durable: Reached;
  /** Files begun since opening; reported with their content, because until then a flush does not make them durable. */
  #begun = 0;
  /** Neither rejects. */
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #change: Deferred<void> = deferred();
  /** The content of the files is unknown since. */
  #failure: { readonly thrown: unknown } | undefined;

  private constructor(path: string, files: ReceivedFiles, state: ReceivedState) {
    this.#path = path;
    this.#files = files;
    this.#accepted = { source: state.source, seq: state.seq, count: 0 };
    this.#written = this.#durable = { count: 0, rotations: 0, state };
  }

  /** Removes what was never acknowledged. The first chunk creates the files. */
  static async open(path: string, rotation: Rotation): Promise<ReceivedLog> {
    const state = (await readReceived(path)) ?? nothingReceived;
    return new ReceivedLog(path, await ReceivedFiles.open(path, rotation, state), state);
  }

  /** The last accepted number of a source; 0 if it is new. */
  seqOf(source: string): number {
    return this.#accepted.source === source ? this.#accepted.seq : 0;
  }

  /** The last durable number of a source; 0 if there is none. */
  durableSeqOf(source: string): number {
    const { state } = this.#durable;
    return state.source === source ? state.seq : 0;
  }

  /**
   * Accepts the chunk at once, and resolves with its bytes when it can be read. A chunk that is known, or does not
   * follow the last one, is skipped (0). A new source replaces the former one with its first chunk.
   */
  async append(source: string, chunk: ReceivedChunk): Promise<number> {
    this.#check();
    if (chunk.seq !== this.seqOf(source) + 1) return 0;
    const bytes = recordsOf(chunk);
    await this.#accept({ source, seq: chunk.seq, isEnded: bytes.length === 0, bytes, at: chunk.at });
    return bytes.length;
  }

  /** Resolves when everything up to that number was accepted, the signal aborts, or the log fails. */
  async arrived(source: string, seq: number, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => this.seqOf(source) >= seq || this.#failure !== undefined || signal.aborted;
    if (isOver()) return;
    const gone = aborted(signal);
    while (!isOver()) await Promise.race([this.#change.promise, gone]);
  }

  /** Resolves when everything appended before is durable. */
  async commit(): Promise<void> {
    const { count } = this.#accepted;
    await this.#last;
    while (this.#durable.count < count && this.#failure === undefined) await this.#flush();
    // The log may be opened again after a rejection: writing must have stopped.
    if (this.#failure !== undefined) await this.#rest();
    this.#check();
  }

  /** Marks the log complete, durably. */
  async end(): Promise<void> {
    this.#check();
    const { source, seq } = this.#accepted;
    await this.#accept({ source, seq, isEnded: true, bytes: Buffer.alloc(0), at: 0 });
    await this.commit();
  }

  /** Whether readers find what was written; others may have removed it. */
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

  /** Rotations that are not flushed yet. */
  get #unflushed(): number {
    return this.#begun - this.#durable.rotations;
  }

  async #writeAll(): Promise<void> {
    // Chunks of one turn are one write.
    await Promise.resolve();
    try {
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#write(batch);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#writing = undefined;
    }
  }

  /** As much as the file has room for, at least one chunk. */
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

  /** A file is removed only when its successor is durable. */
  async #rotate(at: Instant): Promise<void> {
    while (this.#unflushed >= mostExtra && this.#failure === undefined) await this.#flush();
    this.#check();
    await this.#files.prune(this.#unflushed);
    await this.#files.rotate(at);
    this.#begun++;
  }

  /** One at a time. */
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

/** Readers join pieces again. */
function recordsOf({ stream, at, data }: ReceivedChunk): Buffer {
  const stamper = new LineStamper(stream);
  const lines = stamper.stamp(data, at);
  const rest = stamper.flush(at);
  return rest.records === 0 ? lines.bytes : Buffer.concat([lines.bytes, rest.bytes]);
}
