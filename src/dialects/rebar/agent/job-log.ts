import { type Cancel, type Clock, deferred, type Deferred, messageOf, type Millis } from "#lib/base/index.ts";

const mostBytes = 64 * 1024;
const longestWait: Millis = 1_000;
/** Writers wait beyond it. */
const mostPending = 1024 * 1024;

export interface JobLogOptions {
  /** Sends one piece; retries as long as that makes sense. */
  readonly send: (bytes: Uint8Array) => Promise<void>;
  /** A copy for the agent's own output. */
  readonly echo: (bytes: Uint8Array) => void;
  readonly clock: Clock;
}

/** The log of a job on its way to the server: one request for each 64 KiB, or for each second with output. */
export class JobLog {
  readonly #options: JobLogOptions;
  #pieces: Uint8Array[] = [];
  #length = 0;
  #sending: Promise<void> | undefined;
  #cancelTimer: Cancel | undefined;
  #room: Deferred<void> | undefined;
  /** Why the rest of the log is not sent. */
  #failure: string | undefined;

  constructor(options: JobLogOptions) {
    this.#options = options;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Resolves when there is room for more. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#options.echo(bytes);
    if (this.#failure !== undefined || bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    if (this.#length >= mostBytes) this.#flush();
    else this.#cancelTimer ??= this.#options.clock.after(longestWait, () => this.#flush());
    if (this.#length < mostPending) return;
    this.#room ??= deferred<void>();
    await this.#room.promise;
  }

  line(text: string): Promise<void> {
    return this.append(Buffer.from(`${text}\n`));
  }

  /** Resolves when everything is sent, or cannot be. */
  async close(): Promise<void> {
    do {
      this.#flush();
      await this.#sending;
    } while (this.#length > 0 && this.#failure === undefined);
    this.#cancelTimer?.();
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    do {
      const piece = this.#take();
      if (piece.length === 0) return;
      try {
        await this.#options.send(piece);
      } catch (thrown) {
        this.#failure = messageOf(thrown);
        this.#pieces = [];
        this.#length = 0;
      }
      if (this.#length < mostPending) this.#room?.resolve();
      if (this.#length < mostPending) this.#room = undefined;
    } while (this.#length >= mostBytes);
    if (this.#length > 0) this.#cancelTimer ??= this.#options.clock.after(longestWait, () => this.#flush());
  }

  #take(): Uint8Array {
    const all = this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
    const piece = all.subarray(0, mostBytes);
    this.#pieces = all.length > piece.length ? [all.subarray(piece.length)] : [];
    this.#length = all.length - piece.length;
    return piece;
  }
}
