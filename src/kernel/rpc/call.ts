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

// Adapts handlers to grpc-js. Messages are decoded here: grpc-js would answer invalid bytes with an internal error.

export type WireCall =
  | ServerUnaryCall<Uint8Array, Uint8Array>
  | ServerWritableStream<Uint8Array, Uint8Array>
  | ServerReadableStream<Uint8Array, Uint8Array>
  | ServerDuplexStream<Uint8Array, Uint8Array>;

export interface WireStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

export interface CallHost {
  /** Calls `end` when the listener closes, until the returned function is called. O(1). */
  onClosing(end: (reason: RpcError) => void): () => void;
  /** Counts a call until the returned function is called. */
  enter(method: DescMethod, path: string): (code: StatusName) => void;
  newMetadata(): Metadata;
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
    // Ends whatever the handler has left running.
    ending.end(callOver);
  }
}

// Shared: they say nothing about a place, and each would cost a stack.
const callerGone = new RpcError("CANCELLED", "the caller has gone");
const callOver = new RpcError("CANCELLED", "the call has ended");
const none: readonly never[] = [];

/** The end of a call. Its signal is made on demand: it is as large as the rest of a call. */
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
/** `service` has checked the handler against the descriptor. */
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

/** Invalid bytes are the caller's mistake. */
function decode(schema: DescMessage, bytes: Uint8Array): AnyRequest {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", `the request is no ${schema.typeName}`, { cause });
  }
}

/** Reading to the end must not destroy a stream that is still to be answered. */
async function* decodeAll(schema: DescMessage, call: Readable): AsyncGenerator<AnyRequest> {
  for await (const bytes of call.iterator({ destroyOnReturn: false })) yield decode(schema, bytes);
}

const encode = (schema: DescMessage, message: Record<string, unknown>): Uint8Array =>
  // Empty messages, which most answers to agents are, need no encoding.
  Object.keys(message).length === 0 ? new Uint8Array() : toBinary(schema, create(schema, message));

/** Never waits: a slow receiver must not cost memory. */
function repliesTo(schema: DescMessage, call: WireCall): Replies<DescMessage> {
  const sendBytes = (message: Uint8Array): void => {
    if (!("write" in call) || call.writableEnded || call.destroyed) return;
    if (call.writableLength >= maxPendingReplies)
      throw new RpcError("RESOURCE_EXHAUSTED", "the other side does not take what it is sent");
    call.write(message);
  };
  return { sendBytes, send: (message) => sendBytes(encode(schema, message)) };
}

/** A class, because every open stream has one, and closures would be larger. */
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

/** Other errors are logged: their texts may not be for the caller. */
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
