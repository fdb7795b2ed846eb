import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { afterAwake, type Clock, deferred, type Logger, messageOf, type Millis, toError } from "#lib/base/index.ts";
import { type ConnectionSource, RpcPort } from "./port.ts";
import type { Speaker, SpeakerHost, SpeakerOptions } from "./speaker.ts";
import { type RpcError, shutdown, type StatusName } from "./status.ts";
import { TlsFiles } from "./tls-files.ts";

/** Told of every call: when it begins, and how it ended. */
export type CallObserver = (call: {
  readonly service: string;
  readonly method: string;
  readonly type: DescMethod["methodKind"];
}) => (code: StatusName) => void;

/** Where a listener listens, and what it answers. */
export interface RpcListenerOptions extends SpeakerOptions {
  /** `host:port`, port 0 is a free one; or what was opened before, which is the listener's from now on. */
  readonly address: string | ConnectionSource;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long calls that are not streams may take when it closes; 1 s unless told. */
  readonly drain?: Millis;
  readonly observe?: CallObserver;
}

/** How long the last words of a connection may take. */
const lastWords: Millis = 500;

/**
 * A port that speaks gRPC, with the standard's health and reflection services. When it closes, calls that have one answer get a
 * moment to end, and streams end with UNAVAILABLE.
 */
export class RpcListener {
  /** The port it listens on. */
  readonly port: number;
  readonly #door: ConnectionSource;
  readonly #host: ListenerHost;
  readonly #tls: TlsFiles | undefined;
  readonly #options: RpcListenerOptions;
  #speaker: Promise<Speaker> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(door: ConnectionSource, tls: TlsFiles | undefined, options: RpcListenerOptions) {
    this.port = door.port;
    this.#door = door;
    this.#host = new ListenerHost(options);
    this.#tls = tls;
    this.#options = options;
    door.serve((socket) => void this.#serve(socket));
  }

  /** Rejects when the address is taken, or certificates cannot be read; then nothing is open. grpc-js and what answers are loaded by the first connection. */
  static async start(options: RpcListenerOptions): Promise<RpcListener> {
    const { address, tls: paths, clock, log } = options;
    const door = typeof address === "string" ? await RpcPort.open(address) : address;
    try {
      const tls = paths === undefined ? undefined : await TlsFiles.open(paths, clock, log);
      return new RpcListener(door, tls, options);
    } catch (thrown) {
      door.close();
      throw thrown;
    }
  }

  /** Resolves when nothing is open any more. Calling it again waits for the same end. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** What a connection that waits has sent already is not lost: Node's HTTP/2 and TLS take it out of the socket. */
  async #serve(socket: Socket): Promise<void> {
    try {
      this.#speaker ??= this.#loadSpeaker();
      const speaker = await this.#speaker;
      if (!socket.destroyed) speaker.inject(socket);
    } catch (thrown) {
      this.#options.log.error("gRPC is not spoken", { error: messageOf(thrown) });
      socket.destroy();
    }
  }

  async #loadSpeaker(): Promise<Speaker> {
    const { loadSpeaker } = await import("./speaker.ts");
    return await loadSpeaker(this.#options, this.#host, this.#tls, this.#options.clock);
  }

  async #close(): Promise<void> {
    const { clock, drain = 1000 } = this.#options;
    this.#door.refuse();
    this.#host.refuse();
    await within(clock, drain, this.#host.answered());
    this.#host.end(shutdown);
    // One that has failed to load has nothing to end.
    const speaker = await this.#speaker?.catch(() => undefined);
    if (speaker !== undefined) await within(clock, lastWords, speaker.end());
    speaker?.kill();
    this.#door.close();
    this.#tls?.close();
  }
}

/** Resolves with the promise, or after the time: as long as that of a process that has a processor. */
async function within(clock: Clock, time: Millis, promise: Promise<void>): Promise<void> {
  const late = deferred<void>();
  const cancel = afterAwake(clock, time, late.resolve);
  await Promise.race([promise, late.promise]).finally(cancel);
}

/** What all calls of a listener share. */
class ListenerHost implements SpeakerHost {
  readonly #options: RpcListenerOptions;
  /** Not a signal: adding a listener to one looks at all that are there, and every stream is one. */
  readonly #onClosing = new Set<(reason: RpcError) => void>();
  #closed: RpcError | undefined;
  readonly #onAnswered = new Set<() => void>();
  #isRefusing = false;
  /** Calls with one answer that are being answered. */
  #unary = 0;

  constructor(options: RpcListenerOptions) {
    this.#options = options;
  }

  onClosing(end: (reason: RpcError) => void): () => void {
    if (this.#closed !== undefined) end(this.#closed);
    this.#onClosing.add(end);
    return () => void this.#onClosing.delete(end);
  }

  isClosed(): boolean {
    return this.#closed !== undefined;
  }

  isRefusing(): boolean {
    return this.#isRefusing;
  }

  /** Refuses what is new from now on. */
  refuse(): void {
    this.#isRefusing = true;
  }

  end(reason: RpcError): void {
    this.#closed = reason;
    for (const end of this.#onClosing) end(reason);
  }

  /** Resolves when no call with one answer is left. */
  answered(): Promise<void> {
    return this.#unary === 0 ? Promise.resolve() : new Promise((resolve) => this.#onAnswered.add(resolve));
  }

  enter(method: DescMethod, path: string): (code: StatusName) => void {
    const [, service = ""] = path.split("/");
    const left = this.#options.observe?.({ service, method: method.name, type: method.methodKind });
    const isUnary = method.methodKind === "unary";
    if (isUnary) this.#unary++;
    return (code) => {
      left?.(code);
      if (isUnary && --this.#unary === 0) for (const resolve of this.#onAnswered) resolve();
    };
  }

  onBug(method: string, thrown: unknown): void {
    this.#options.log.error("a call has failed", { method, error: messageOf(thrown), stack: toError(thrown).stack });
  }
}
