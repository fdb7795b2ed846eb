import {
  Client,
  credentials as channelCredentials,
  type ChannelCredentials,
  Metadata,
  type ServiceError,
  status,
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
import { deferred } from "#lib/base/index.ts";

/** How a call ended that did not end well. */
export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly metadata: Metadata;
}

type Method<I extends DescMessage, O extends DescMessage> = Pick<DescMethod, "name" | "parent"> & {
  readonly input: I;
  readonly output: O;
};

/** Request headers by name. */
export type Headers = Readonly<Record<string, string | Buffer | readonly string[]>>;

/** A client of any service, for tests: a real connection of grpc-js's. */
export class RpcClient {
  readonly #client: Client;

  constructor(port: number, credentials: ChannelCredentials = channelCredentials.createInsecure(), host = "127.0.0.1") {
    // Channels to one address are shared by grpc-js unless they are asked not to be.
    this.#client = new Client(`${host}:${port}`, credentials, { "grpc.use_local_subchannel_pool": 1 });
  }

  /** Resolves with the answer or with how it was refused. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    headers: Headers = {},
  ): Promise<MessageShape<O> | Refused> {
    return this.bytes(method, Buffer.from(toBinary(method.input, create(method.input, request))), headers);
  }

  /** As `unary`, with whatever bytes. */
  bytes<I extends DescMessage, O extends DescMessage>(method: Method<I, O>, bytes: Buffer, headers: Headers = {}) {
    return new Promise<MessageShape<O> | Refused>((resolve) => {
      this.#client.makeUnaryRequest(
        pathOf(method),
        (value: Buffer) => value,
        (value) => fromBinary(method.output, value),
        bytes,
        metadataOf(headers),
        { deadline: Date.now() + 30_000 },
        (thrown, message) => resolve(thrown === null && message !== undefined ? message : refusedOf(thrown)),
      );
    });
  }

  serverStream<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    headers: Headers = {},
  ): Received<MessageShape<O>> {
    const call = this.#client.makeServerStreamRequest(
      pathOf(method),
      (value: Buffer) => value,
      (value) => fromBinary(method.output, value),
      Buffer.from(toBinary(method.input, create(method.input, request))),
      metadataOf(headers),
    );
    const received = new Received<MessageShape<O>>(() => call.cancel());
    call.on("metadata", (metadata) => received.headers.resolve(metadata));
    call.on("data", (message: MessageShape<O>) => received.messages.push(message));
    call.on("error", (thrown: ServiceError) => received.end.resolve(refusedOf(thrown)));
    call.on("end", () => received.end.resolve(undefined));
    return received;
  }

  /** Requests at once, and one answer; with `isOpen` nothing is said of their end, as when the caller is killed. */
  clientStream<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    requests: readonly MessageInitShape<I>[],
    { headers = {}, isOpen = false }: { readonly headers?: Headers; readonly isOpen?: boolean } = {},
  ) {
    let cancel = (): void => undefined;
    const answer = new Promise<MessageShape<O> | Refused>((resolve) => {
      const call = this.#client.makeClientStreamRequest(
        pathOf(method),
        (value: Buffer) => value,
        (value) => fromBinary(method.output, value),
        metadataOf(headers),
        (thrown, message) => resolve(thrown === null && message !== undefined ? message : refusedOf(thrown)),
      );
      cancel = () => call.cancel();
      for (const request of requests) call.write(Buffer.from(toBinary(method.input, create(method.input, request))));
      if (!isOpen) call.end();
    });
    return { answer, cancel };
  }

  /** A call whose requests are all sent at once. */
  bidi<I extends DescMessage, O extends DescMessage>(method: Method<I, O>, requests: readonly MessageInitShape<I>[]) {
    const call = this.#client.makeBidiStreamRequest(
      pathOf(method),
      (value: Buffer) => value,
      (value) => fromBinary(method.output, value),
      new Metadata(),
    );
    const received = new Received<MessageShape<O>>(() => call.cancel());
    call.on("data", (message: MessageShape<O>) => received.messages.push(message));
    call.on("error", (thrown: ServiceError) => received.end.resolve(refusedOf(thrown)));
    call.on("end", () => received.end.resolve(undefined));
    for (const request of requests) call.write(Buffer.from(toBinary(method.input, create(method.input, request))));
    call.end();
    return received;
  }

  close(): void {
    this.#client.close();
  }
}

/** What a stream has brought so far. */
export class Received<T> {
  readonly messages: T[] = [];
  readonly headers = deferred<Metadata>();
  /** Resolves with how it was refused, or undefined when it ended well. */
  readonly end = deferred<Refused | undefined>();
  readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
}

/** Whether an answer is a refusal. */
export const isRefused = (answer: object): answer is Refused => "code" in answer && "metadata" in answer;

const pathOf = ({ parent, name }: Pick<DescMethod, "name" | "parent">): string => `/${parent.typeName}/${name}`;

const refusedOf = (thrown: ServiceError | null): Refused => ({
  code: status[thrown?.code ?? 2] ?? "UNKNOWN",
  message: thrown?.details ?? "",
  metadata: thrown?.metadata ?? new Metadata(),
});

function metadataOf(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) metadata.add(name, one);
  return metadata;
}
