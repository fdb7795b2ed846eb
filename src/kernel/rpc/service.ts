import type { DescMessage, DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { PeerCertificate } from "node:tls";
import type { RpcError } from "./status.ts";

/** One call as its handler sees it. */
export interface CallContext {
  /** A request header by its lower-case name; empty without it. One that was sent more than once is joined by `, `, as HTTP does. */
  header(name: string): string;
  /** Headers whose name ends in `-bin`. */
  binary(name: string): readonly Uint8Array[];
  /** Response headers, which go out at once. Only before the first message. */
  sendHeaders(headers: Readonly<Record<string, string>>): void;
  /** Address and port of the other side, for people. */
  readonly peer: string;
  /** What the other side has proved to be; absent without mutual TLS. */
  readonly certificate: PeerCertificate | undefined;
  /** Aborts when the other side has gone, or with the status to end with when the listener closes. */
  readonly signal: AbortSignal;
  /**
   * Calls `run` once when `signal` would abort, at once when it has. For streams that are many and last long: none of them needs a signal.
   */
  onEnd(run: (reason: RpcError) => void): void;
}

/** The answers of a call that may have many. */
export interface Replies<O extends DescMessage> {
  /** Throws RESOURCE_EXHAUSTED when the other side has not taken what was sent before; see `maxPendingReplies`. */
  send(message: MessageInitShape<O>): void;
  /** The same of a message that is on the wire like this already. */
  sendBytes(message: Uint8Array): void;
}

/** More answers than this that the other side does not take end the call. */
export const maxPendingReplies = 256;

/** For a method whose requests are not of one type: bytes in, bytes out. */
export interface RawUnary {
  readonly raw: (request: Uint8Array, call: CallContext) => Promise<Uint8Array>;
}

type Requests<I extends DescMessage> = AsyncIterable<MessageShape<I>>;
type Unary<I extends DescMessage, O extends DescMessage> =
  | ((request: MessageShape<I>, call: CallContext) => Promise<MessageInitShape<O>>)
  | RawUnary;
/** A stream ends well when its handler resolves. */
type ServerStreaming<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  replies: Replies<O>,
  call: CallContext,
) => Promise<void>;
type ClientStreaming<I extends DescMessage, O extends DescMessage> = (
  requests: Requests<I>,
  call: CallContext,
) => Promise<MessageInitShape<O>>;
type BidiStreaming<I extends DescMessage, O extends DescMessage> = (
  requests: Requests<I>,
  replies: Replies<O>,
  call: CallContext,
) => Promise<void>;

type HandlerOf<M extends Pick<DescMethod, "input" | "output" | "methodKind">> = M["methodKind"] extends "unary"
  ? Unary<M["input"], M["output"]>
  : M["methodKind"] extends "server_streaming"
    ? ServerStreaming<M["input"], M["output"]>
    : M["methodKind"] extends "client_streaming"
      ? ClientStreaming<M["input"], M["output"]>
      : BidiStreaming<M["input"], M["output"]>;

/** One function for each method; methods that are left out are answered as unimplemented. */
export type Handlers<S extends DescService> = { readonly [K in keyof S["method"]]?: HandlerOf<S["method"][K]> };

/** A service with what answers it. */
export interface RpcService {
  readonly descriptor: DescService;
  /** By the local name of the method. */
  readonly handlers: Readonly<Record<string, unknown>>;
  /** The name it has on the wire, where that is not the descriptor's. */
  readonly name?: string;
}

/** Binds handlers to a service, which is where their types are checked. */
export const service = <S extends DescService>(descriptor: S, handlers: Handlers<S>, name?: string): RpcService => ({
  descriptor,
  handlers,
  ...(name === undefined ? {} : { name }),
});
