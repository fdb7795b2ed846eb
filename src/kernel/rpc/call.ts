import type {
  Metadata,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import { create, type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { EventEmitter } from "node:events";
import type { Readable } from "node:stream";
import { type CallContext, maxPendingReplies, type RawUnary, type Replies } from "./service.ts";
import { encodeDetails, RpcError, statusCodes, type StatusName } from "./status.ts";

// What grpc-js calls, made of what this project writes. Messages are decoded here and not by grpc-js, which would answer bytes that
// mean nothing as an internal error.

/** The four kinds of calls; bytes on both sides. */
export type WireCall =
  | ServerUnaryCall<Uint8Array, Uint8Array>
  | ServerWritableStream<Uint8Array, Uint8Array>
  | ServerReadableStream<Uint8Array, Uint8Array>
  | ServerDuplexStream<Uint8Array, Uint8Array>;

/** What a refusal is on the wire. */
export interface WireStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** What calls need of the listener they arrive at. */
export interface CallHost {
  /** Calls `end` when the listener closes, until the answered function is called. O(1), however many calls are open. */
  onClosing(end: (reason: RpcError) => void): () => void;
  /** Counts a call until the answered function is called. */
  enter(method: DescMethod, path: string): (code: StatusName) => void;
  newMetadata(): Metadata;
  /** A handler has failed in a way that it should not. */
  onBug(method: string, thrown: unknown): void;
}

/** Runs one call to its end. Never rejects. */
export async function runCall(
  host: CallHost,
  method: DescMethod,
  handler: unknown,
  call: WireCall,
  answer: (refused: WireStatus | null, message?: Uint8Array) => void,
): Promise<void> {
  const leave = host.enter(method, call.getPath());
  const ending = new Ending();
  const stay = host.onClosing((reason) => ending.end(reason));
  const events: EventEmitter = call;
  events.once("cancelled", () => ending.end(callerGone));
  try {
    const context = new Context(host, call, ending);
    const message = await invoke(method, handler, call, context);
    answer(null, message);
    leave("OK");
  } catch (thrown) {
    const refused = refusalOf(host, method, thrown);
    answer(wireStatus(host, refused));
    leave(refused.code);
  } finally {
    stay();
    // Whatever the handler has left behind ends with the call.
    ending.end(callOver);
  }
}

// One for all calls: what is thrown with them tells nothing of the place it was made at, and each would cost a stack.
const callerGone = new RpcError("CANCELLED", "the caller has gone");
const callOver = new RpcError("CANCELLED", "the call has ended");

const none: readonly never[] = [];

/** The end of a call. Most handlers never ask for its signal, which is as large as all else of a call. */
class Ending {
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;
  #listeners: readonly ((reason: RpcError) => void)[] = none;

  /** The first reason counts. */
  end(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }

  listen(run: (reason: RpcError) => void): void {
    if (this.#reason === undefined) this.#listeners = [...this.#listeners, run];
    else run(this.#reason);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }
}

type AnyRequest = MessageShape<DescMessage>;
/** The one place where a handler's type is taken on trust: `service` has checked it against the descriptor. */
type Invoke = (first: unknown, second: unknown, third?: unknown) => Promise<Record<string, unknown>>;

async function invoke(method: DescMethod, handler: unknown, call: WireCall, context: CallContext) {
  if (isRaw(handler)) return await handler.raw(requestOf(call), context);
  const run = handler as Invoke;
  const requests = isStream(call) ? decodeAll(method.input, call) : decode(method.input, requestOf(call));
  if (method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming") {
    await run(requests, repliesTo(method.output, call), context);
    return undefined;
  }
  return encode(method.output, await run(requests, context));
}

const isRaw = (handler: unknown): handler is RawUnary =>
  typeof handler === "object" && handler !== null && "raw" in handler;

const isStream = (call: WireCall): call is Extract<WireCall, Readable> => "readable" in call;
const requestOf = (call: WireCall): Uint8Array => ("request" in call ? call.request : new Uint8Array());

/** Bytes that are no such message are the caller's mistake. */
function decode(schema: DescMessage, bytes: Uint8Array): AnyRequest {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", `the request is no ${schema.typeName}`, { cause });
  }
}

/** By itself the end of reading would destroy a stream that is still to be answered. */
async function* decodeAll(schema: DescMessage, call: Readable): AsyncGenerator<AnyRequest> {
  for await (const bytes of call.iterator({ destroyOnReturn: false })) yield decode(schema, bytes);
}

const encode = (schema: DescMessage, message: Record<string, unknown>): Uint8Array =>
  // What says nothing has no bytes, which most answers to agents are.
  Object.keys(message).length === 0 ? new Uint8Array() : toBinary(schema, create(schema, message));

/** Never waits: what the other side does not take in time is its loss, not this side's memory. */
function repliesTo(schema: DescMessage, call: WireCall): Replies<DescMessage> {
  const sendBytes = (message: Uint8Array): void => {
    if (!("write" in call) || call.writableEnded || call.destroyed) return;
    if (call.writableLength >= maxPendingReplies)
      throw new RpcError("RESOURCE_EXHAUSTED", "the other side does not take what it is sent");
    call.write(message);
  };
  return { sendBytes, send: (message) => sendBytes(encode(schema, message)) };
}

/** What a handler may ask of its call. A class, because every open stream has one: functions of its own would be half a kilobyte of each. */
class Context implements CallContext {
  readonly #host: CallHost;
  readonly #call: WireCall;
  readonly #ending: Ending;

  constructor(host: CallHost, call: WireCall, ending: Ending) {
    this.#host = host;
    this.#call = call;
    this.#ending = ending;
  }

  header(name: string): string {
    return this.#call.metadata.get(name).join(", ");
  }

  binary(name: string): readonly Uint8Array[] {
    return this.#call.metadata.get(name).filter((value) => typeof value !== "string");
  }

  sendHeaders(headers: Readonly<Record<string, string>>): void {
    const metadata = this.#host.newMetadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    this.#call.sendMetadata(metadata);
  }

  get peer(): string {
    return this.#call.getPeer();
  }

  get certificate(): CallContext["certificate"] {
    return this.#call.getAuthContext().sslPeerCertificate;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  onEnd(run: (reason: RpcError) => void): void {
    this.#ending.listen(run);
  }
}

/** Texts of errors that are no refusals are for the log: they may tell of what is none of the caller's business. */
function refusalOf(host: CallHost, { parent, name }: DescMethod, thrown: unknown): RpcError {
  if (thrown instanceof RpcError) return thrown;
  host.onBug(`${parent.typeName}/${name}`, thrown);
  return new RpcError("INTERNAL", "the server has failed", { cause: thrown });
}

function wireStatus(host: CallHost, refused: RpcError): WireStatus {
  const metadata = host.newMetadata();
  const details = encodeDetails(refused);
  if (details !== undefined) metadata.set("grpc-status-details-bin", Buffer.from(details));
  return { code: statusCodes[refused.code], details: refused.message, metadata };
}
