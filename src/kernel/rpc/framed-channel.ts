import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { type Clock, messageOf, orAborted, systemClock, onAbort } from "#lib/base/index.ts";
import { FrameReader, messagesOf } from "./frame-reader.ts";
import { MessageDeadline } from "./message-deadline.ts";
import { RpcError, statusCodes, type StatusName } from "./status.ts";

export interface FramedChannelOptions {
  /** Opens a connection, again after the last one has gone. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  /** Limits the time of a message once it has begun; default: the system's clock. */
  readonly clock?: Clock;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `https://api.example`; default: a name that servers on loopback accept. */
  readonly authority?: string;
}

const longestMessage = 4 * 1024 * 1024;
/** Flow control windows, of one call and of all. */
const windowBytes = 1024 * 1024;

interface Connecting {
  readonly session: Promise<ClientHttp2Session>;
  /** Gives up opening it. */
  readonly abandon: () => void;
  isOpen: boolean;
  /** Calls that wait for it. */
  waiting: number;
}

/**
 * Streams from a gRPC server over any kind of connection: messages are bytes, delivered as they arrive and as the
 * reader asks for them. The connection is opened by the first call, shared, and reopened when it has gone. Close it.
 */
export class FramedChannel {
  readonly #options: FramedChannelOptions;
  readonly #closed = new AbortController();
  #connecting: Connecting | undefined;

  constructor(options: FramedChannelOptions) {
    this.#options = options;
  }

  /** The answers to framed requests. Rejects with an `RpcError` unless it ends OK. Leaving the iteration cancels it. */
  async *stream(path: string, request: Buffer, signal: AbortSignal): AsyncGenerator<readonly Buffer[], void> {
    for await (const frames of this.frames(path, request, signal)) yield messagesOf(frames);
  }

  /** The same as whole frames, one behind the other. */
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
    const forget = onAbort(signal, () => stream.close(cancelled));
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
      forget();
      deadline.cancel();
      stream.close(cancelled);
    }
  }

  close(): void {
    this.#closed.abort(new RpcError("CANCELLED", "the channel is closed"));
    void this.#connecting?.session.then(
      (session) => session.destroy(),
      () => undefined,
    );
  }

  /** The shared connection. Opening it is given up when no call waits any more. */
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
      end.abort(new RpcError("CANCELLED", "the connection is no longer needed"));
      // A late connection has no owner and would stay open.
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
    // The event may come after the session was destroyed, where the call would throw.
    session.once("connect", () => {
      if (!session.destroyed) session.setLocalWindowSize(windowBytes);
    });
    // Its calls report it.
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

class CallEnd {
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};

  constructor(stream: ClientHttp2Stream) {
    // An answer without messages ends in its headers.
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

  /** The server's status wins over a later failure of the connection. */
  refusal(thrown: unknown): RpcError {
    if (thrown instanceof RpcError) return thrown;
    try {
      if (this.#headers["grpc-status"] !== undefined) this.check();
    } catch (refused) {
      if (refused instanceof RpcError) return refused;
    }
    return new RpcError("UNAVAILABLE", `the stream has broken: ${messageOf(thrown)}`, { cause: thrown });
  }

  /** A proxy has answered. */
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
    // Shown as it is.
    return text;
  }
}
