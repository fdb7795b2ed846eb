import type { DescMessage, DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { PeerCertificate } from "node:tls";
import type { RpcError } from "./status.ts";

export interface CallContext {
  /** A request header by its lower-case name; empty if absent. Repeated ones are joined by `, `. */
  header(name: string): string;
  /** Headers whose names end in `-bin`. */
  binary(name: string): readonly Uint8Array[];
  /** Sent at once; only before the first message. */
  sendHeaders(headers: Readonly<Record<string, string>>): void;
  /** Address and port of the client, for people. */
  readonly peer: string;
  /** Of the client; absent without mutual TLS. */
  readonly certificate: PeerCertificate | undefined;
  /** Aborts when the client is gone, or with the status to end with when the listener closes. */
  readonly signal: AbortSignal;
  /** Calls `run` once when `signal` would abort, at once if it has. Cheaper than a signal for many long streams. */
  onEnd(run: (reason: RpcError) => void): void;
}

export interface Replies<O extends DescMessage> {
  /** Throws RESOURCE_EXHAUSTED when too many earlier replies wait for the client; see `maxPendingReplies`. */
  send(message: MessageInitShape<O>): void;
  /** The same for an encoded message. */
  sendBytes(message: Uint8Array): void;
}

export const maxPendingReplies = 256;

export interface RawUnary {
  readonly raw: (request: Uint8Array, call: CallContext) => Promise<Uint8Array>;
}

type Requests<I extends DescMessage> = AsyncIterable<MessageShape<I>>;
type Unary<I extends DescMessage, O extends DescMessage> =
  | ((request: MessageShape<I>, call: CallContext) => Promise<MessageInitShape<O>>)
  | RawUnary;
/** The stream ends well when its handler resolves. */
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

/** Methods left out are answered as unimplemented. */
export type Handlers<S extends DescService> = { readonly [K in keyof S["method"]]?: HandlerOf<S["method"][K]> };

export interface RpcService {
  readonly descriptor: DescService;
  /** By the local name of the method. */
  readonly handlers: Readonly<Record<string, unknown>>;
  /** Its name on the wire, if not the descriptor's. */
  readonly name?: string;
}

/** Binds handlers to a service and checks their types. */
export const service = <S extends DescService>(descriptor: S, handlers: Handlers<S>, name?: string): RpcService => ({
  descriptor,
  handlers,
  ...(name === undefined ? {} : { name }),
});
