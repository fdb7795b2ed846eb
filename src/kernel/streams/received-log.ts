import { aborted, type Deferred, deferred, type Instant } from "#lib/base/index.ts";
import { GroupCommit } from "./group-commit.ts";
import { LineStamper } from "./line-stamper.ts";
import type { Rotation } from "./log-files.ts";
import { mostExtra, ReceivedFiles } from "./received-files.ts";
import { nothingReceived, readReceived, type ReceivedState, writeReceived } from "./received-state.ts";
import type { LogStream } from "./record.ts";

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
  /** Files begun since the log was opened, up to that of the state. */
  readonly rotations: number;
  readonly state: ReceivedState;
}

interface Piece extends Pick<ReceivedState, "source" | "seq" | "isEnded"> {
  readonly bytes: Buffer;
  readonly at: Instant;
}

/**
 * A log that arrives in numbered chunks, readable by `readLogs`. Each chunk is written once, however often it is sent:
 * what was written behind the last `commit` is removed when the log is opened again, and the sender still has it. One
 * at a time for a path; concurrent appends are fine. After a rejection it must be closed.
 */
export class ReceivedLog {
  readonly #path: string;
  readonly #files: ReceivedFiles;
  readonly #commit: GroupCommit<Piece>;
  #accepted: Pick<ReceivedState, "source" | "seq">;
  /** What is in the files, durable or not. */
  #written: Reached;
  #durable: Reached;
  /** Files begun since opening; reported with their content, because until then a flush does not make them durable. */
  #begun = 0;
  #change: Deferred<void> = deferred();

  private constructor(path: string, files: ReceivedFiles, state: ReceivedState) {
    this.#path = path;
    this.#files = files;
    this.#accepted = { source: state.source, seq: state.seq };
    this.#written = this.#durable = { rotations: 0, state };
    this.#commit = new GroupCommit({
      fits: (waiting) => this.#fitting(waiting),
      write: (batch) => this.#write(batch),
      flush: () => this.#flush(),
      onFailure: () => this.#tell(),
    });
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
    this.#commit.check();
    if (chunk.seq !== this.seqOf(source) + 1) return 0;
    const bytes = recordsOf(chunk);
    await this.#accept({ source, seq: chunk.seq, isEnded: bytes.length === 0, bytes, at: chunk.at });
    return bytes.length;
  }

  /** Resolves when everything up to that number was accepted, the signal aborts, or the log fails. */
  async arrived(source: string, seq: number, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => this.seqOf(source) >= seq || this.#commit.hasFailed || signal.aborted;
    if (isOver()) return;
    const gone = aborted(signal);
    while (!isOver()) await Promise.race([this.#change.promise, gone]);
  }

  /** Resolves when everything appended before is durable. */
  commit(): Promise<void> {
    return this.#commit.commit();
  }

  /** Marks the log complete, durably. */
  async end(): Promise<void> {
    this.#commit.check();
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
    await this.#commit.rest();
    try {
      if (!this.#commit.hasFailed) await this.#files.prune(this.#unflushed);
    } finally {
      await this.#files.close();
    }
  }

  #accept(piece: Piece): Promise<void> {
    const written = this.#commit.accept(piece);
    this.#accepted = { source: piece.source, seq: piece.seq };
    this.#tell();
    return written;
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = deferred();
  }

  /** Rotations that are not flushed yet. */
  get #unflushed(): number {
    return this.#begun - this.#durable.rotations;
  }

  /** As much as the file has room for. */
  #fitting(waiting: readonly Piece[]): number {
    let { room } = this.#files;
    let taken = 0;
    for (const { bytes } of waiting) {
      room -= bytes.length;
      if (taken > 0 && room < 0) break;
      taken++;
    }
    return taken;
  }

  async #write(batch: readonly Piece[]): Promise<void> {
    const [first, last] = [batch[0], batch.at(-1)];
    if (first === undefined || last === undefined) return;
    if (first.bytes.length > this.#files.room) await this.#rotate(first.at);
    const parts = batch.flatMap(({ bytes }) => (bytes.length === 0 ? [] : [bytes]));
    if (parts.length > 0) await this.#files.write(parts);
    const { source, seq, isEnded } = last;
    this.#written = { rotations: this.#begun, state: { ...this.#files.end, source, seq, isEnded } };
  }

  /** A file is removed only when its successor is durable. */
  async #rotate(at: Instant): Promise<void> {
    while (this.#unflushed >= mostExtra && !this.#commit.hasFailed) await this.#commit.flush();
    this.#commit.check();
    await this.#files.prune(this.#unflushed);
    await this.#files.rotate(at);
    this.#begun++;
  }

  async #flush(): Promise<void> {
    const reached = this.#written;
    await this.#files.flush();
    await writeReceived(this.#path, reached.state);
    this.#durable = reached;
  }
}

/** Readers join pieces again. */
function recordsOf({ stream, at, data }: ReceivedChunk): Buffer {
  const stamper = new LineStamper(stream);
  const lines = stamper.stamp(data, at);
  const rest = stamper.flush(at);
  return rest.records === 0 ? lines.bytes : Buffer.concat([lines.bytes, rest.bytes]);
}
