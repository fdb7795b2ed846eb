import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { afterAwake, type Clock, deferred, type Logger, messageOf, type Millis, toError } from "#lib/base/index.ts";
import { type ConnectionSource, RpcPort } from "./port.ts";
import type { Speaker, SpeakerHost, SpeakerOptions } from "./speaker.ts";
import { type RpcError, shutdown, type StatusName } from "./status.ts";
import { TlsFiles } from "./tls-files.ts";

/** Called at the start of a call; the returned function at its end. */
export type CallObserver = (call: {
  readonly service: string;
  readonly method: string;
  readonly type: DescMethod["methodKind"];
}) => (code: StatusName) => void;

export interface RpcListenerOptions extends SpeakerOptions {
  /** `host:port` with port 0 for any; or an open source, which the listener takes over. */
  readonly address: string | ConnectionSource;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long calls with one answer may take at the close; default: 1 s. */
  readonly drain?: Millis;
  readonly observe?: CallObserver;
}

/** How long connections may take to end. */
const lastWords: Millis = 500;

/** A gRPC port with health and reflection. At the close calls get a moment; streams end with UNAVAILABLE. */
export class RpcListener {
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

  /** Rejects if the address is taken or certificates cannot be read. The first connection loads grpc-js. */
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

  /** May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Node's HTTP/2 and TLS also read what the connection has already sent. */
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
    // It may have failed to load.
    const speaker = await this.#speaker?.catch(() => undefined);
    if (speaker !== undefined) await within(clock, lastWords, speaker.end());
    speaker?.kill();
    this.#door.close();
    this.#tls?.close();
  }
}

/** Time in which the process does not run does not count. */
async function within(clock: Clock, time: Millis, promise: Promise<void>): Promise<void> {
  const late = deferred<void>();
  const cancel = afterAwake(clock, time, late.resolve);
  await Promise.race([promise, late.promise]).finally(cancel);
}

class ListenerHost implements SpeakerHost {
  readonly #options: RpcListenerOptions;
  /** Not a signal: adding a listener to one costs as much as it has. */
  readonly #onClosing = new Set<(reason: RpcError) => void>();
  #closed: RpcError | undefined;
  readonly #onAnswered = new Set<() => void>();
  #isRefusing = false;
  /** Calls with one answer. */
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

  refuse(): void {
    this.#isRefusing = true;
  }

  end(reason: RpcError): void {
    this.#closed = reason;
    for (const end of this.#onClosing) end(reason);
  }

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
