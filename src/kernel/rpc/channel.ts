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
import { type Clock, type Instant, messageOf, type Millis, onAbort, orAborted } from "#lib/base/index.ts";
import { RpcError, statusCodes, type StatusName } from "./status.ts";

/** How to reach another program's server. */
export interface RpcChannelOptions {
  /** `host:port`. */
  readonly address: string;
  /** Default: plaintext. PEM. */
  readonly tls?: {
    /** The server's authority; default: the system's. */
    readonly ca?: Buffer;
    /** The client's certificate. */
    readonly identity?: { readonly certificate: Buffer; readonly key: Buffer };
    /** False accepts any server certificate. */
    readonly isVerified: boolean;
  };
  /** Pings during calls: an unplugged server is noticed after both together. */
  readonly keepalive: { readonly time: Millis; readonly timeout: Millis };
  /** Limit for connecting. */
  readonly connectLimit: Millis;
  readonly clock: Clock;
}

/** A method of generated descriptors, with its message types. */
type Method<I extends DescMessage, O extends DescMessage> = Pick<DescMethod, "name" | "parent"> & {
  readonly input: I;
  readonly output: O;
};

export interface CallOptions {
  /** A list becomes several headers; bytes need a name that ends in `-bin`. */
  readonly headers?: Readonly<Record<string, string | Buffer | readonly string[]>>;
  readonly signal: AbortSignal;
  /** For calls with one answer; default: none. */
  readonly timeout?: Millis;
  /** For calls with many messages: called when the connection has taken all. */
  readonly onSent?: () => void;
  /** For streams: called with the response headers; missing ones are empty. */
  readonly onHeaders?: (header: (name: string) => string) => void;
}

const longestMessage = 4 * 1024 * 1024;

/** One connection to a gRPC server. Failures are `RpcError`s. It does not reconnect: open another channel. */
export class RpcChannel {
  readonly #client: Client;
  readonly #newMetadata: () => Metadata;
  readonly #clock: Clock;

  private constructor(client: Client, newMetadata: () => Metadata, clock: Clock) {
    this.#client = client;
    this.#newMetadata = newMetadata;
    this.#clock = clock;
  }

  /** Resolves when connected, with TLS; rejects with UNAVAILABLE. Loads grpc-js. */
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

  /** A call with many messages, which are few and at hand, and one answer. */
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
      // Writes after a refusal are dropped.
      call.on("error", () => undefined);
      if (options.onSent !== undefined) call.once("finish", options.onSent);
      for (const request of requests) call.write(toBinary(method.input, create(method.input, request)));
      call.end();
      return call;
    });
  }

  /** Cancels the call with the signal. */
  #answerOf<T>(
    { headers, signal, timeout }: CallOptions,
    begin: (metadata: Metadata, limits: GrpcCallOptions, answered: requestCallback<T>) => { cancel(): void },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const limits = timeout === undefined ? {} : { deadline: this.#clock.now() + timeout };
      const call = begin(this.#metadataOf(headers), limits, (thrown, answer) => {
        forget();
        if (thrown === null && answer !== undefined) resolve(answer);
        else reject(refusalOf(thrown));
      });
      const forget = onAbort(signal, () => call.cancel());
    });
  }

  /** A call with many answers. Leaving the iteration cancels it. */
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
    const forget = onAbort(signal, () => call.cancel());
    try {
      for await (const message of call) yield message as MessageShape<O>;
    } catch (thrown) {
      throw refusalOf(thrown);
    } finally {
      forget();
      call.cancel();
    }
  }

  /** Ends the connection and its calls. */
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

/** Resolves when connected; rejects with the first failure, where grpc-js would keep trying. */
async function ready(grpc: Grpc, client: Client, deadline: Instant, signal: AbortSignal): Promise<void> {
  const { READY, TRANSIENT_FAILURE, SHUTDOWN } = grpc.connectivityState;
  const channel = client.getChannel();
  for (;;) {
    const state = channel.getConnectivityState(true);
    if (state === READY) return;
    if (state === TRANSIENT_FAILURE || state === SHUTDOWN) throw new Error(await reasonOf(grpc, client));
    const change = new Promise<void>((resolve, reject) => {
      channel.watchConnectivityState(state, deadline, (thrown) =>
        thrown === undefined ? resolve() : reject(new Error("no connection in time")),
      );
    });
    await orAborted(change, signal);
  }
}

/** Only calls learn why there is no connection; this one fails at once without being sent. */
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
  // Channels to one address would share a connection, which would survive in the other.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
});

const pathOf = ({ parent, name }: Pick<DescMethod, "name" | "parent">): string => `/${parent.typeName}/${name}`;

/** Without copying: grpc-js requires buffers. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const namesByCode = new Map(Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]));

function refusalOf(thrown: unknown): RpcError {
  const { code, details } = (thrown ?? {}) as Partial<ServiceError>;
  const name = namesByCode.get(code ?? statusCodes.UNKNOWN) ?? "UNKNOWN";
  return new RpcError(name === "OK" ? "UNKNOWN" : name, details ?? messageOf(thrown), { cause: thrown });
}
