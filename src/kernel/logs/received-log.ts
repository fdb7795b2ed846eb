import { type FileHandle, open, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import type { Instant } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { LineStamper } from "./line-stamper.ts";
import { fileOfAge, listLogFiles, lookAt, removeLog, type Rotation } from "./log-files.ts";
import { bytesBefore, lossMark } from "./loss-mark.ts";
import { nothingReceived, readReceived, type ReceivedState, writeReceived } from "./received-state.ts";
import type { LogStream } from "./record.ts";
import { makeRoom, moveFile, removeFile, writeWhole } from "./rotate.ts";

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

/**
 * A log that arrives in numbered chunks, in files that `readLogs` reads. Each chunk is written once, however often it is sent and
 * wherever a crash comes in between: what was written behind the last `commit` is taken back when the log is opened again, and the
 * sender has it still.
 *
 * One at a time for a path. After a rejection it is of no use but to be closed.
 */
export class ReceivedLog {
  readonly #path: string;
  readonly #rotation: Rotation;
  #handle: FileHandle | undefined;
  /** What is in the files, durable or not. */
  #written: ReceivedState;
  #durable: ReceivedState;
  /** Bytes of the files before the present one. */
  #before = 0;
  /** Everything is done one after the other. */
  #turn: Promise<void> = Promise.resolve();
  /** What is in the files since is not known. */
  #failure: unknown;

  private constructor(path: string, rotation: Rotation, state: ReceivedState) {
    this.#path = path;
    this.#rotation = rotation;
    this.#written = state;
    this.#durable = state;
  }

  /** Takes back what was never acknowledged. Files are made by the first chunk. */
  static async open(path: string, rotation: Rotation): Promise<ReceivedLog> {
    const state = await readReceived(path);
    if (state === undefined || state.file === "") await removeLog(path);
    else await takeBack(path, state);
    return new ReceivedLog(path, rotation, state ?? nothingReceived);
  }

  /** The number after which a source goes on; 0 for one that is new here. */
  seqOf(source: string): number {
    return this.#written.source === source ? this.#written.seq : 0;
  }

  /**
   * Resolves when the chunk can be read. One that was here before, or that does not follow the one before, is passed over; a new source
   * takes the place of the one before with its first chunk. Answers the bytes that the log has grown by.
   */
  append(source: string, chunk: ReceivedChunk): Promise<number> {
    return this.#next(async () => {
      if (chunk.seq !== this.seqOf(source) + 1) return 0;
      const bytes = recordsOf(chunk);
      if (bytes.length > 0) await this.#write(bytes, chunk.at);
      const { size } = this.#written;
      this.#written = {
        ...this.#written,
        source,
        seq: chunk.seq,
        size: size + bytes.length,
        isEnded: bytes.length === 0,
      };
      return bytes.length;
    });
  }

  /** Resolves when no crash can undo what was appended before. */
  commit(): Promise<void> {
    return this.#next(() => this.#commit());
  }

  /** Nothing more is expected, whoever says so. Durable when it resolves. */
  end(): Promise<void> {
    return this.#next(async () => {
      this.#written = { ...this.#written, isEnded: true };
      await this.#commit();
    });
  }

  /** Commits nothing. */
  async close(): Promise<void> {
    await this.#turn;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(() => {
      if (this.#failure !== undefined) throw this.#failure;
      return work();
    });
    this.#turn = done.then(
      () => undefined,
      (thrown: unknown) => {
        this.#failure ??= thrown;
      },
    );
    return done;
  }

  async #commit(): Promise<void> {
    if (this.#written === this.#durable) return;
    await makeDirectories(dirname(this.#path), 0o750);
    await this.#handle?.datasync();
    await writeReceived(this.#path, this.#written);
    this.#durable = this.#written;
  }

  async #write(bytes: Buffer, at: Instant): Promise<void> {
    const handle = (this.#handle ??= await this.#open());
    const { size } = this.#written;
    if (size === 0 || size + bytes.length <= this.#rotation.maxBytes) return await writeWhole(handle, [bytes]);
    // What the state says is then all in files that are not written any more.
    await this.#commit();
    await handle.close();
    this.#handle = undefined;
    await makeRoom(this.#path, this.#rotation);
    this.#before += size;
    this.#written = { ...this.#written, size: 0 };
    this.#handle = await this.#open();
    if (this.#rotation.marksLoss === true) {
      const mark = lossMark(this.#before, at);
      await writeWhole(this.#handle, [mark]);
      this.#written = { ...this.#written, size: mark.length };
    }
    await writeWhole(this.#handle, [bytes]);
  }

  /** Readable by its owner's group, as all logs are. */
  async #open(): Promise<FileHandle> {
    await makeDirectories(dirname(this.#path), 0o750);
    const handle = await open(this.#path, "a+", 0o640);
    const found = await handle.stat({ bigint: true });
    this.#written = { ...this.#written, file: `${found.dev}:${found.ino}`, size: Number(found.size) };
    if (this.#rotation.marksLoss === true && found.size > 0n) this.#before = await bytesBefore(handle);
    return handle;
  }
}

/** Pieces without an end are joined again by who reads. */
function recordsOf({ stream, at, data }: ReceivedChunk): Buffer {
  const stamper = new LineStamper(stream);
  const lines = stamper.stamp(data, at);
  const rest = stamper.flush(at);
  return rest.records === 0 ? lines.bytes : Buffer.concat([lines.bytes, rest.bytes]);
}

/** The files as they were when the state was written: younger ones are removed, and what was added to its own is cut off. */
async function takeBack(path: string, { file, size }: ReceivedState): Promise<void> {
  const files = await listLogFiles(path);
  const at = files.findIndex(({ id }) => id === file);
  const younger = at < 0 ? 0 : ageIn(path, files[at]?.path ?? path);
  for (let age = 0; age < younger; age++) await removeFile(fileOfAge(path, age));
  if (younger > 0)
    for (let age = younger; age < younger + files.length; age++)
      await moveFile(fileOfAge(path, age), fileOfAge(path, age - younger));
  const own = await lookAt(path);
  // Files that were copied from elsewhere have other names to the disk; their length is looked at all the same.
  if (own !== undefined && own.size > size) await truncate(path, size);
}

const ageIn = (path: string, file: string): number => Number(file.slice(path.length + 1) || 0);
