import { backoffDelay, type Clock, type JsonObject, type Millis, type Random, sleep, textAt } from "#lib/base/index.ts";
import type { StreamLine, Subscription } from "#app/ui/wire.ts";

/** How a stream reaches the server; tests have their own. */
export interface StreamTransport {
  /** Lines of one connection; ends or throws when it is lost. */
  open(subscriptions: readonly Subscription[], signal: AbortSignal): AsyncIterable<StreamLine>;
  /** Throws if the connection is unknown to the server. */
  change(token: string, subscriptions: readonly Subscription[], signal: AbortSignal): Promise<void>;
}

export interface StreamOptions {
  readonly transport: StreamTransport;
  readonly clock: Clock;
  readonly random: Random;
  readonly onConnected: () => void;
  /** A sign of life; `away` is why the cluster behind the server does not answer. */
  readonly onAlive?: (away: string | undefined) => void;
  /** `retryIn` until the next try. */
  readonly onLost: (thrown: unknown, retryIn: Millis) => void;
}

export type LineHandler = (line: StreamLine) => void;

interface Entry {
  readonly subscription: Subscription;
  readonly handler: LineHandler;
  rv: string | undefined;
}

/**
 * The one connection for everything that changes. Each subscription is resumed from the last version that its lines
 * carried. `GONE` is the subscriber's to handle: it lists again and calls `resume` of its handle. Without subscriptions
 * there is no connection.
 */
export class Stream {
  readonly #options: StreamOptions;
  readonly #entries = new Map<string, Entry>();
  #nextId = 1;
  #token: string | undefined;
  #connection: AbortController | undefined;
  #isRunning = false;
  #isChangeAsked = false;
  #isChanging = false;
  #isChangedMeanwhile = false;
  #failures = 0;
  #skipWait: (() => void) | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  subscribe(wanted: Omit<Subscription, "id">, handler: LineHandler): StreamHandle {
    let id = this.#add(wanted, handler);
    return {
      resume: (resourceVersion) => {
        this.#entries.delete(id);
        id = this.#add({ ...wanted, resourceVersion }, handler);
      },
      close: () => {
        if (this.#entries.delete(id)) this.#askForChange();
      },
    };
  }

  /** Tries again now instead of after the pause. */
  retryNow(): void {
    this.#skipWait?.();
  }

  close(): void {
    this.#entries.clear();
    this.#connection?.abort();
  }

  #add(wanted: Omit<Subscription, "id">, handler: LineHandler): string {
    const id = String(this.#nextId++);
    this.#entries.set(id, { subscription: { ...wanted, id }, handler, rv: wanted.resourceVersion });
    this.#askForChange();
    return id;
  }

  #wanted(): Subscription[] {
    return [...this.#entries.values()].map(({ subscription, rv }) =>
      rv === undefined ? subscription : { ...subscription, resourceVersion: rv },
    );
  }

  /** Views that come and go within one turn are one change. */
  #askForChange(): void {
    if (this.#isChangeAsked) return;
    this.#isChangeAsked = true;
    queueMicrotask(() => {
      this.#isChangeAsked = false;
      if (!this.#isRunning) void this.#run();
      else if (this.#token !== undefined) void this.#change(this.#token);
    });
  }

  /** One at a time: two lists that overtake each other would leave the older one. */
  async #change(token: string): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    if (this.#entries.size === 0) return connection.abort();
    if (this.#isChanging) {
      this.#isChangedMeanwhile = true;
      return;
    }
    this.#isChanging = true;
    try {
      await this.#options.transport.change(token, this.#wanted(), connection.signal);
    } catch {
      // The server does not know the connection any more, or is gone: a new one begins with all subscriptions.
      connection.abort();
    }
    this.#isChanging = false;
    if (this.#isChangedMeanwhile) {
      this.#isChangedMeanwhile = false;
      this.#askForChange();
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#failures = 0;
    while (this.#entries.size > 0) {
      const connection = new AbortController();
      this.#connection = connection;
      let cause: unknown;
      try {
        for await (const line of this.#options.transport.open(this.#wanted(), connection.signal)) this.#take(line);
      } catch (thrown) {
        cause = thrown;
      }
      const isOurs = connection.signal.aborted;
      connection.abort();
      this.#token = undefined;
      if (this.#entries.size > 0) await this.#wait(isOurs, cause);
    }
    this.#isRunning = false;
  }

  async #wait(isOurs: boolean, cause: unknown): Promise<void> {
    const { clock, random, onLost } = this.#options;
    this.#failures += 1;
    const pause = backoffDelay(this.#failures, { first: 500, longest: 15_000, jitter: 0.3, random });
    if (!isOurs) onLost(cause, pause);
    const skip = new AbortController();
    this.#skipWait = () => skip.abort();
    await sleep(clock, pause, skip.signal).catch(() => undefined);
    this.#skipWait = undefined;
  }

  #take(line: StreamLine): void {
    this.#failures = 0;
    if (line.type === "HELLO") {
      const before = this.#token;
      this.#token = line.token;
      this.#options.onConnected();
      // What was subscribed between the request and its answer.
      if (before === undefined) this.#askForChange();
      return;
    }
    if (line.id === "") return this.#options.onAlive?.(textAt(line.object as JsonObject | undefined, "away"));
    const entry = this.#entries.get(line.id);
    if (entry === undefined) return;
    if (line.rv !== undefined) entry.rv = line.rv;
    entry.handler(line);
  }
}

export interface StreamHandle {
  /** Continues after a new list. */
  readonly resume: (resourceVersion: string) => void;
  readonly close: () => void;
}

/**
 * JSON values, one a line, of bytes in pieces. Empty lines are signs of life. A line above 16 MiB is a broken stream.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamLine> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > 16 * 1024 * 1024) throw new Error("a line of the stream is longer than 16 MiB");
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as StreamLine;
  }
}
