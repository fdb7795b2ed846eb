import { type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { flushDirectory } from "#lib/base/index.node.ts";
import { aborted, type Deferred, deferred, SlipwayError } from "#lib/base/index.ts";
import { GroupCommit } from "./group-commit.ts";
import { orClosed } from "./open-file.ts";
import { writeWhole } from "./rotate.ts";

const pieceBytes = 256 * 1024;

/**
 * A file of bytes that only grows. What can be read is durable; of an append that has failed nothing is left.
 * Concurrent appends share writes and flushes. One at a time for a path; after a rejection it must be closed.
 */
export class ByteLog {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #maxBytes: number;
  readonly #commit: GroupCommit<Buffer>;
  #accepted: number;
  #written: number;
  #durable: number;
  #isRemoved = false;
  #mended: Promise<void> = Promise.resolve();
  #change: Deferred<void> = deferred();

  private constructor(path: string, handle: FileHandle, size: number, maxBytes: number) {
    this.#path = path;
    this.#handle = handle;
    this.#maxBytes = maxBytes;
    this.#accepted = this.#written = this.#durable = size;
    this.#commit = new GroupCommit({
      write: (batch) => this.#write(batch),
      flush: () => this.#flush(),
      onFailure: () => this.#mend(),
    });
  }

  /** Creates the file; its directory must exist. */
  static async open(path: string, maxBytes: number): Promise<ByteLog> {
    const handle = await open(path, "a+", 0o600);
    return await orClosed(handle, async () => {
      // What a killed process has left is not durable.
      await handle.datasync();
      const { size } = await handle.stat();
      if (size === 0) await flushDirectory(dirname(path));
      return new ByteLog(path, handle, size, maxBytes);
    });
  }

  /** Durable bytes. */
  get size(): number {
    return this.#durable;
  }

  /** Resolves when the bytes are durable, after `begin` in an empty file. `log-full` is no failure of the file. */
  async append(bytes: Uint8Array, begin?: Uint8Array): Promise<void> {
    const first = this.#accepted === 0 && begin !== undefined ? begin : new Uint8Array();
    const added = first.length + bytes.length;
    if (this.#isRemoved) throw new SlipwayError("log-removed", "the log was removed");
    if (this.#accepted + added > this.#maxBytes)
      throw new SlipwayError("log-full", `a log has at most ${this.#maxBytes} bytes`);
    this.#commit.check();
    this.#accepted += added;
    try {
      await this.#commit.accept(Buffer.concat([first, bytes]));
      await this.#commit.commit();
    } catch (thrown) {
      await this.#mended;
      throw thrown;
    }
  }

  /** Bytes from `start` up to `end`, which is not included, as far as they are durable when it is called. */
  async *read(start: number, end: number): AsyncGenerator<Buffer, void> {
    const last = Math.min(end, this.#durable);
    for (let at = start; at < last; ) {
      const length = Math.min(pieceBytes, last - at);
      const { buffer, bytesRead } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** From `start` on, and what comes, until the signal aborts, the log is removed, or an append fails. */
  async *follow(start: number, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const gone = aborted(signal);
    for (let at = start; ; ) {
      const { promise } = this.#change;
      for await (const piece of this.read(at, Number.POSITIVE_INFINITY)) {
        at += piece.length;
        yield piece;
        if (signal.aborted) return;
      }
      if (signal.aborted || this.#isRemoved || this.#commit.hasFailed) return;
      if (at >= this.#durable) await Promise.race([promise, gone]);
    }
  }

  /** Durable. What was opened before can still be read. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#tell();
    await rm(this.#path, { force: true });
    await flushDirectory(dirname(this.#path));
  }

  async close(): Promise<void> {
    await this.#commit.rest();
    await this.#mended;
    await this.#handle.close();
  }

  async #write(batch: readonly Buffer[]): Promise<void> {
    await writeWhole(this.#handle, batch);
    for (const { length } of batch) this.#written += length;
  }

  async #flush(): Promise<void> {
    const reached = this.#written;
    await this.#handle.datasync();
    this.#durable = reached;
    this.#tell();
  }

  /** Cuts off what was not acknowledged, before its senders learn of it. */
  #mend(): void {
    this.#mended = this.#handle.truncate(this.#durable).catch(() => undefined);
    this.#tell();
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = deferred();
  }
}
