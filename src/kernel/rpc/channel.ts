import type {
  CallOptions as GrpcCallOptions,
  ChannelCredentials,
  Client,
  ClientOptions,
  Metadata,
  requestCallback,
  ServiceError,
} from "@grpc/grpc-js";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Clock, type Instant, messageOf, type Millis } from "#lib/base/index.ts";
import { RpcError, statusCodes, type StatusName } from "./status.ts";

/** How to reach a server of somebody else's. */
export interface RpcChannelOptions {
  /** `host:port`. */
  readonly address: string;
  /** Plaintext without. PEM each. */
  readonly tls?: {
    /** Who signs the server; the system's authorities without. */
    readonly ca?: Buffer;
    /** What this side proves to be. */
    readonly identity?: { readonly certificate: Buffer; readonly key: Buffer };
    /** False takes any certificate of the server. */
    readonly isVerified: boolean;
  };
  /** Pings while a call is open: a server that was unplugged is noticed after both together. */
  readonly keepalive: { readonly time: Millis; readonly timeout: Millis };
  /** For the connection to be there. */
  readonly connectLimit: Millis;
  readonly clock: Clock;
}

/** A method as generated descriptors have it, with the types of its messages. */
type Method<I extends DescMessage, O extends DescMessage> = Pick<DescMethod, "name" | "parent"> & {
  readonly input: I;
  readonly output: O;
};

export interface CallOptions {
  /** Request headers. A list is sent as several headers of one name; bytes need a name that ends in `-bin`. */
  readonly headers?: Readonly<Record<string, string | Buffer | readonly string[]>>;
  /** Ends the call. */
  readonly signal: AbortSignal;
  /** Of a call with one answer; without, it waits for ever. */
  readonly timeout?: Millis;
  /** Of a call that brings many messages: is told when all of them were taken by the connection, which then has room for those of another. */
  readonly onSent?: () => void;
  /** Of a stream: is told of the response headers when they come. One that was not sent is empty. */
  readonly onHeaders?: (header: (name: string) => string) => void;
}

/** Messages of this many bytes are taken. */
const longestMessage = 4 * 1024 * 1024;

/**
 * One connection to a gRPC server. What goes wrong, a broken connection too, is an `RpcError`. It does not come back by itself: who wants
 * another one closes this and opens it, so that waiting in between is its own to decide.
 */
export class RpcChannel {
  readonly #client: Client;
  readonly #newMetadata: () => Metadata;
  readonly #clock: Clock;

  private constructor(client: Client, newMetadata: () => Metadata, clock: Clock) {
    this.#client = client;
    this.#newMetadata = newMetadata;
    this.#clock = clock;
  }

  /** Resolves when the connection is there, TLS included; rejects with UNAVAILABLE. grpc-js is loaded here and not before. */
  static async open(options: RpcChannelOptions, signal: AbortSignal): Promise<RpcChannel> {
    const grpc = await import("@grpc/grpc-js");
    const client = new grpc.Client(options.address, credentialsOf(grpc, options), settingsOf(options));
    const channel = new RpcChannel(client, () => new grpc.Metadata(), options.clock);
    try {
      await ready(grpc, client, options.clock.now() + options.connectLimit, signal);
      return channel;
    } catch (thrown) {
      client.close();
      throw new RpcError("UNAVAILABLE", `${options.address} cannot be reached: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
  }

  /** A call with one answer. */
  call<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#answerOf(options, (metadata, limits, answered) =>
      this.#client.makeUnaryRequest(
        pathOf(method),
        asBuffer,
        (bytes: Buffer) => fromBinary(method.output, bytes),
        toBinary(method.input, create(method.input, request)),
        metadata,
        limits,
        answered,
      ),
    );
  }

  /** A call that brings many messages, and has one answer at their end. They are all at hand, and few. */
  send<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    requests: readonly MessageInitShape<I>[],
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#answerOf(options, (metadata, limits, answered) => {
      const call = this.#client.makeClientStreamRequest(
        pathOf(method),
        asBuffer,
        (bytes: Buffer) => fromBinary(method.output, bytes),
        metadata,
        limits,
        answered,
      );
      // What is written after the server has refused is lost, as it should be.
      call.on("error", () => undefined);
      if (options.onSent !== undefined) call.once("finish", options.onSent);
      for (const request of requests) call.write(toBinary(method.input, create(method.input, request)));
      call.end();
      return call;
    });
  }

  /** The one answer of a call, which is cancelled with the signal. */
  #answerOf<T>(
    { headers, signal, timeout }: CallOptions,
    begin: (metadata: Metadata, limits: GrpcCallOptions, answered: requestCallback<T>) => { cancel(): void },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const limits = timeout === undefined ? {} : { deadline: this.#clock.now() + timeout };
      const call = begin(this.#metadataOf(headers), limits, (thrown, answer) => {
        signal.removeEventListener("abort", cancel);
        if (thrown === null && answer !== undefined) resolve(answer);
        else reject(refusalOf(thrown));
      });
      const cancel = () => call.cancel();
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel, { once: true });
    });
  }

  /** A call with many answers, as they come; ends when the server ends it well. Leaving the iteration cancels it. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    { headers, signal, onHeaders }: CallOptions,
  ): AsyncGenerator<MessageShape<O>> {
    const call = this.#client.makeServerStreamRequest(
      pathOf(method),
      asBuffer,
      (bytes: Buffer) => fromBinary(method.output, bytes),
      toBinary(method.input, create(method.input, request)),
      this.#metadataOf(headers),
    );
    call.once("metadata", (metadata: Metadata) => onHeaders?.((name) => metadata.get(name).join(",")));
    const cancel = () => call.cancel();
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    try {
      for await (const message of call) yield message as MessageShape<O>;
    } catch (thrown) {
      throw refusalOf(thrown);
    } finally {
      signal.removeEventListener("abort", cancel);
      cancel();
    }
  }

  /** Ends the connection and every call on it. */
  close(): void {
    this.#client.close();
  }

  #metadataOf(headers: CallOptions["headers"] = {}): Metadata {
    const metadata = this.#newMetadata();
    for (const [name, value] of Object.entries(headers))
      for (const one of typeof value === "string" || Buffer.isBuffer(value) ? [value] : value) metadata.add(name, one);
    return metadata;
  }
}

type Grpc = typeof import("@grpc/grpc-js");

/**
 * Resolves when the connection is there. Rejects with the first failure: grpc-js would go on trying, at times of its own. Its own wait does not
 * end when the client is closed, either, so that the signal is looked at here.
 */
async function ready(grpc: Grpc, client: Client, deadline: Instant, signal: AbortSignal): Promise<void> {
  const { READY, TRANSIENT_FAILURE, SHUTDOWN } = grpc.connectivityState;
  const channel = client.getChannel();
  let abandon = (): void => undefined;
  const abandoned = new Promise<never>((_resolve, reject) => {
    abandon = () => reject(signal.reason as Error);
    if (signal.aborted) abandon();
    else signal.addEventListener("abort", abandon, { once: true });
  });
  // Nobody waits for it between two looks.
  abandoned.catch(() => undefined);
  try {
    for (;;) {
      const state = channel.getConnectivityState(true);
      if (state === READY) return;
      if (state === TRANSIENT_FAILURE || state === SHUTDOWN) throw new Error(await reasonOf(grpc, client));
      const change = new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, deadline, (thrown) =>
          thrown === undefined ? resolve() : reject(new Error("no connection in time")),
        );
      });
      await Promise.race([change, abandoned]);
    }
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

/** Why there is no connection is told to calls only: one that is made now fails at once, and is never sent. */
const reasonOf = (grpc: Grpc, client: Client): Promise<string> =>
  new Promise((resolve) => {
    const bytes = (value: Buffer) => value;
    client.makeUnaryRequest("/", bytes, bytes, Buffer.alloc(0), new grpc.Metadata(), (thrown) => {
      const details = thrown?.details ?? "";
      resolve(/Last error: (?:Error: )?(.*?)(?:\. Resolution note:.*)?$/.exec(details)?.[1] ?? details);
    });
  });

function credentialsOf({ credentials }: Grpc, { tls }: RpcChannelOptions): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { ca = null, identity, isVerified } = tls;
  return credentials.createSsl(ca, identity?.key ?? null, identity?.certificate ?? null, {
    rejectUnauthorized: isVerified,
    ...(isVerified ? {} : { checkServerIdentity: () => undefined }),
  });
}

const settingsOf = ({ keepalive }: RpcChannelOptions): ClientOptions => ({
  "grpc.keepalive_time_ms": keepalive.time,
  "grpc.keepalive_timeout_ms": keepalive.timeout,
  "grpc.max_receive_message_length": longestMessage,
  // Channels to one address would share a connection, and one that is closed would live on in another.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
});

const pathOf = ({ parent, name }: Pick<DescMethod, "name" | "parent">): string => `/${parent.typeName}/${name}`;

/** The same memory: grpc-js takes nothing but buffers. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const namesByCode = new Map(Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]));

function refusalOf(thrown: unknown): RpcError {
  const { code, details } = (thrown ?? {}) as Partial<ServiceError>;
  const name = namesByCode.get(code ?? statusCodes.UNKNOWN) ?? "UNKNOWN";
  return new RpcError(name === "OK" ? "UNKNOWN" : name, details ?? messageOf(thrown), { cause: thrown });
}
