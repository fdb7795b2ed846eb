import { Duplex } from "node:stream";
import { deferred, SlipwayError, toError, onAbort } from "#lib/base/index.ts";
import { type ChannelSocket, portProtocols } from "#kernel/websocket/index.ts";
import type { ApiChannel } from "./api-channel.ts";

const portChannels = { data: 0, error: 1 } as const;

export async function forwardedPort(
  channel: ApiChannel,
  path: string,
  { port, signal }: { readonly port: number; readonly signal?: AbortSignal },
): Promise<Duplex> {
  const socket = await channel.upgrade({ path, protocols: portProtocols, ...(signal && { signal }) });
  const stream = new ForwardedPort(socket, port, () => toError(channel.broken(signal)));
  stream.once(
    "close",
    onAbort(signal, () => void stream.destroy(toError(signal?.reason))),
  );
  return stream;
}

class ForwardedPort extends Duplex {
  readonly #socket: ChannelSocket;
  readonly #port: number;
  /** The server begins each channel by naming the port. */
  readonly #begun = new Set<number>();
  #wanted = deferred<void>();

  constructor(socket: ChannelSocket, port: number, broken: () => Error) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#port = port;
    socket.listen((number, payload) => this.#take(number, payload));
    void this.#untilClosed(broken);
  }

  async #untilClosed(broken: () => Error): Promise<void> {
    const { code } = await this.#socket.closed;
    await this.#socket.settled;
    // 1005: closed without a code.
    if (code === 1000 || code === 1005) this.push(null);
    else this.destroy(broken());
  }

  override _read(): void {
    this.#wanted.resolve();
  }

  /** A failure to send shows as the end of the connection. */
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    void this.#socket.send(portChannels.data, chunk).then(() => done());
  }

  override _final(done: () => void): void {
    this.#socket.close();
    done();
  }

  override _destroy(failure: Error | null, done: (failure: Error | null) => void): void {
    this.#wanted.resolve();
    if (failure === null) this.#socket.close();
    else this.#socket.cut();
    done(failure);
  }

  #take(number: number, payload: Buffer): Promise<void> | undefined {
    if (!this.#begun.has(number)) this.#begin(number, payload);
    else if (number === portChannels.error) this.#fail(payload.toString().trim());
    else if (number === portChannels.data && payload.length > 0) return this.#give(payload);
    return undefined;
  }

  #begin(number: number, payload: Buffer): void {
    this.#begun.add(number);
    if (payload.length === 2 && payload.readUInt16LE() === this.#port) return;
    const message = `the server did not forward port ${this.#port}, which it was asked for`;
    this.destroy(new SlipwayError("malformed-answer", message));
  }

  #fail(words: string): void {
    if (words === "") return;
    this.destroy(new SlipwayError("forward-failed", `port ${this.#port} cannot be reached: ${words}`));
  }

  /** The connection waits for its reader. */
  #give(payload: Buffer): Promise<void> | undefined {
    if (this.destroyed || this.push(payload)) return undefined;
    this.#wanted = deferred();
    return this.#wanted.promise;
  }
}
