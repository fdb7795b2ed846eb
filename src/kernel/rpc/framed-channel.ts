import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { type Clock, messageOf, orAborted, systemClock } from "#lib/base/index.ts";
import { FrameReader, messagesOf } from "./frame-reader.ts";
import { MessageDeadline } from "./message-deadline.ts";
import { RpcError, statusCodes, type StatusName } from "./status.ts";

export interface FramedChannelOptions {
  /** Opens a connection; anything that carries bytes both ways. Asked anew when the one before has gone. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  /** By which a message must be whole once it has begun; the system's unless told. */
  readonly clock?: Clock;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whom calls are for, `https://api.example`; a name that a server on loopback takes for its own unless told. */
  readonly authority?: string;
}

/** Messages of this many bytes are taken. */
const longestMessage = 4 * 1024 * 1024;
/** What may be under way to this side, of one call and of all: more than the system holds anyway. */
const windowBytes = 1024 * 1024;

/** A connection that is being opened, or is open. */
interface Connecting {
  readonly session: Promise<ClientHttp2Session>;
  /** Gives up opening it. */
  readonly abandon: () => void;
  isOpen: boolean;
  /** Calls that wait for it. */
  waiting: number;
}

/**
 * Streams from a server of gRPC, over connections of whatever kind: messages come as bytes, as many at once as have arrived, and no more than are
 * asked for. The connection is opened by the first call, shared by those that follow, and opened anew when it has gone.
 * Close it.
 */
export class FramedChannel {
  readonly #options: FramedChannelOptions;
  readonly #closed = new AbortController();
  #connecting: Connecting | undefined;

  constructor(options: FramedChannelOptions) {
    this.#options = options;
  }

  /**
   * The answers to one framed request, or to several that are sent at once; ends when the server ends the call OK, and rejects with an
   * `RpcError` for every other end. Leaving the iteration cancels the call.
   */
  async *stream(path: string, request: Buffer, signal: AbortSignal): AsyncGenerator<readonly Buffer[], void> {
    for await (const frames of this.frames(path, request, signal)) yield messagesOf(frames);
  }

  /** The same as whole frames, one behind the other, for who looks at messages where they are. */
  async *frames(path: string, request: Buffer, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    signal.throwIfAborted();
    const stream = (await this.#connected(signal)).request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...this.#options.headers,
    });
    const end = new CallEnd(stream);
    const reader = new FrameReader(longestMessage);
    const deadline = new MessageDeadline(this.#options.clock ?? systemClock, stream, reader, () =>
      stream.destroy(lateMessage),
    );
    const cancel = (): void => stream.close(cancelled);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      stream.end(request);
      for await (const piece of stream) {
        const frames = reader.pushFrames(piece as Buffer);
        deadline.noted();
        if (frames.length > 0) yield frames;
      }
      if (reader.isInside) throw new RpcError("UNAVAILABLE", "the stream has ended in the middle of a message");
      end.check();
    } catch (thrown) {
      signal.throwIfAborted();
      throw end.refusal(thrown);
    } finally {
      signal.removeEventListener("abort", cancel);
      deadline.cancel();
      stream.close(cancelled);
    }
  }

  /** Ends the connection and every call on it. */
  close(): void {
    this.#closed.abort(new RpcError("CANCELLED", "the channel is closed"));
    void this.#connecting?.session.then(
      (session) => session.destroy(),
      () => undefined,
    );
  }

  /** The one connection of all calls. It is opened for whoever waits for it, and given up when nobody does any more. */
  async #connected(signal: AbortSignal): Promise<ClientHttp2Session> {
    for (;;) {
      this.#closed.signal.throwIfAborted();
      const connecting = (this.#connecting ??= this.#connect());
      connecting.waiting++;
      try {
        const session = await orAborted(connecting.session, signal);
        if (!session.closed && !session.destroyed) return session;
        this.#forget(connecting);
      } finally {
        if (--connecting.waiting === 0 && !connecting.isOpen) {
          this.#forget(connecting);
          connecting.abandon();
        }
      }
    }
  }

  #connect(): Connecting {
    const end = new AbortController();
    const session = this.#open(AbortSignal.any([end.signal, this.#closed.signal]));
    const abandon = (): void => {
      end.abort(new RpcError("CANCELLED", "nobody waits for the connection"));
      // One that comes all the same is nobody's, and would stay open.
      session.then(
        (late) => late.destroy(),
        () => undefined,
      );
    };
    const connecting: Connecting = { session, abandon, isOpen: false, waiting: 0 };
    session.then(
      () => (connecting.isOpen = true),
      () => this.#forget(connecting),
    );
    return connecting;
  }

  /** Unless another has taken its place. */
  #forget(connecting: Connecting): void {
    if (this.#connecting === connecting) this.#connecting = undefined;
  }

  async #open(signal: AbortSignal): Promise<ClientHttp2Session> {
    const { connect } = await import("node:http2");
    const connection = await this.#options.connect(signal).catch((thrown: unknown) => {
      signal.throwIfAborted();
      throw new RpcError("UNAVAILABLE", `there is no connection: ${messageOf(thrown)}`, { cause: thrown });
    });
    const session = connect(this.#options.authority ?? "http://localhost", {
      createConnection: () => connection,
      settings: { initialWindowSize: windowBytes, enablePush: false },
    });
    // Told after the next turn of the loop, also of one that was given up meanwhile, where it would be thrown at nobody.
    session.once("connect", () => {
      if (!session.destroyed) session.setLocalWindowSize(windowBytes);
    });
    // Its calls are told.
    session.on("error", () => undefined);
    return session;
  }
}

const lateMessage = new RpcError("UNAVAILABLE", "a message was begun and did not come whole in time");

/** NGHTTP2_CANCEL. */
const cancelled = 8;

const namesByCode: ReadonlyMap<number, StatusName> = new Map(
  Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]),
);

/** How a call ends, as far as the server has said. */
class CallEnd {
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};

  constructor(stream: ClientHttp2Stream) {
    // An answer without messages has its end in its headers.
    stream.once("response", (headers) => {
      this.#headers = headers;
      this.#status = headers[":status"];
    });
    stream.once("trailers", (trailers) => {
      this.#headers = { ...this.#headers, ...trailers };
    });
  }

  /** Throws unless it was OK. */
  check(): void {
    const code = this.#headers["grpc-status"];
    if (code === undefined) throw new RpcError(this.#withoutCode(), "the server has ended the stream without a status");
    const name = namesByCode.get(Number(code)) ?? "UNKNOWN";
    if (name !== "OK") throw new RpcError(name, decodeMessage(String(this.#headers["grpc-message"] ?? "")));
  }

  /** What the server has said, rather than what became of the connection then. */
  refusal(thrown: unknown): RpcError {
    if (thrown instanceof RpcError) return thrown;
    try {
      if (this.#headers["grpc-status"] !== undefined) this.check();
    } catch (refused) {
      if (refused instanceof RpcError) return refused;
    }
    return new RpcError("UNAVAILABLE", `the stream has broken: ${messageOf(thrown)}`, { cause: thrown });
  }

  /** Something between here and the server has answered. */
  #withoutCode(): Exclude<StatusName, "OK"> {
    if (this.#status === 401) return "UNAUTHENTICATED";
    if (this.#status === 403 || this.#status === 421) return "PERMISSION_DENIED";
    return this.#status === 404 || this.#status === 415 ? "UNIMPLEMENTED" : "UNAVAILABLE";
  }
}

function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Whatever it is, it is for people.
    return text;
  }
}
