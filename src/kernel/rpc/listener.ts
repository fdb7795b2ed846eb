import { setMaxListeners } from "node:events";
import type { MethodDefinition, Server, ServerCredentials } from "@grpc/grpc-js";
import type { DescMethod } from "@bufbuild/protobuf";
import { type Clock, type Logger, messageOf, type Millis, sleep, SlipwayError, toError } from "#lib/base/index.ts";
import { type CallHost, runCall, type WireCall, type WireStatus } from "./call.ts";
import { healthService } from "./health.ts";
import { reflectionServices } from "./reflection.ts";
import type { RpcService } from "./service.ts";
import { RpcError, type StatusName } from "./status.ts";
import { TlsFiles, type TlsPaths } from "./tls-files.ts";

/** Told of every call: when it begins, and how it ended. */
export type CallObserver = (call: {
  readonly service: string;
  readonly method: string;
  readonly type: DescMethod["methodKind"];
}) => (code: StatusName) => void;

/** Where a listener listens, and what it answers. */
export interface RpcListenerOptions {
  /** `host:port`; port 0 is a free one. */
  readonly address: string;
  readonly services: readonly RpcService[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Plaintext without. */
  readonly tls?: TlsPaths;
  /** Pings on connections, so that an end that was never told is noticed: after both together. */
  readonly keepalive?: { readonly time: Millis; readonly timeout: Millis };
  /** Of one message; 4 MiB unless told. */
  readonly maxMessageBytes?: number;
  /** How long calls that are not streams may take when it closes; 1 s unless told. */
  readonly drain?: Millis;
  readonly observe?: CallObserver;
}

const shutdown = (): RpcError => new RpcError("UNAVAILABLE", "the server is shutting down");
/** How long the last words of a connection may take. */
const lastWords: Millis = 500;

/**
 * A port that speaks gRPC, with the standard's health and reflection services. When it closes, calls that have one answer get a
 * moment to end, and streams end with UNAVAILABLE.
 */
export class RpcListener {
  /** The port it listens on. */
  readonly port: number;
  readonly #server: Server;
  readonly #host: ListenerHost;
  readonly #tls: TlsFiles | undefined;
  readonly #options: RpcListenerOptions;
  #closed: Promise<void> | undefined;

  private constructor(
    server: Server,
    port: number,
    host: ListenerHost,
    tls: TlsFiles | undefined,
    options: RpcListenerOptions,
  ) {
    this.#server = server;
    this.port = port;
    this.#host = host;
    this.#tls = tls;
    this.#options = options;
  }

  /** Rejects when the address is taken, or certificates cannot be read. grpc-js is loaded here and not before. */
  static async start(options: RpcListenerOptions): Promise<RpcListener> {
    const grpc = await import("@grpc/grpc-js");
    const { maxMessageBytes = 4 * 1024 * 1024, keepalive, log, clock } = options;
    const server = new grpc.Server({
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc.max_send_message_length": maxMessageBytes,
      ...(keepalive === undefined
        ? {}
        : { "grpc.keepalive_time_ms": keepalive.time, "grpc.keepalive_timeout_ms": keepalive.timeout }),
    });
    const host = new ListenerHost(options, () => new grpc.Metadata());
    const names = new Set(options.services.map(({ descriptor, name }) => name ?? descriptor.typeName));
    const services = [...options.services, healthService(names, host.closing)];
    for (const each of [...services, ...reflectionServices(services)]) register(server, host, each);
    const tls = options.tls === undefined ? undefined : await TlsFiles.open(options.tls, clock, log);
    const credentials =
      tls === undefined
        ? grpc.ServerCredentials.createInsecure()
        : grpc.experimental.createCertificateProviderServerCredentials(
            // The declaration has these two the other way round than the code.
            tls,
            options.tls?.clientCa === undefined ? null : tls,
            options.tls?.clientCa !== undefined,
          );
    try {
      const port = await bind(server, options.address, credentials);
      return new RpcListener(server, port, host, tls, options);
    } catch (thrown) {
      tls?.close();
      throw thrown;
    }
  }

  /** Resolves when nothing is open any more. Calling it again waits for the same end. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock, drain = 1000 } = this.#options;
    this.#host.refuse();
    await within(clock, drain, this.#host.answered());
    this.#host.end(shutdown());
    const ended = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    await within(clock, lastWords, ended);
    this.#server.forceShutdown();
    this.#tls?.close();
  }
}

/** Resolves with the promise, or after the time. */
async function within(clock: Clock, time: Millis, promise: Promise<void>): Promise<void> {
  const patience = new AbortController();
  await Promise.race([promise, sleep(clock, time, patience.signal).catch(() => undefined)]);
  patience.abort();
}

const bind = (server: Server, address: string, credentials: ServerCredentials): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (thrown, port) => {
      if (thrown === null) resolve(port);
      else
        reject(new SlipwayError("rpc-listen", `cannot listen on ${address}: ${messageOf(thrown)}`, { cause: thrown }));
    });
  });

/** What all calls of a listener share. */
class ListenerHost implements CallHost {
  readonly newMetadata: CallHost["newMetadata"];
  readonly #options: RpcListenerOptions;
  readonly #closing = new AbortController();
  readonly #onAnswered = new Set<() => void>();
  #isRefusing = false;
  /** Calls with one answer that are being answered. */
  #unary = 0;

  constructor(options: RpcListenerOptions, newMetadata: CallHost["newMetadata"]) {
    this.#options = options;
    this.newMetadata = newMetadata;
    // Every stream listens to it, and there may be thousands; Node would take more than ten for a leak.
    setMaxListeners(0, this.#closing.signal);
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get isRefusing(): boolean {
    return this.#isRefusing;
  }

  /** Refuses what is new from now on. */
  refuse(): void {
    this.#isRefusing = true;
  }

  end(reason: RpcError): void {
    this.#closing.abort(reason);
  }

  /** Resolves when no call with one answer is left. */
  answered(): Promise<void> {
    return this.#unary === 0 ? Promise.resolve() : new Promise((resolve) => this.#onAnswered.add(resolve));
  }

  enter(method: DescMethod, path: string): (code: StatusName) => void {
    const [, service = ""] = path.split("/");
    const left = this.#options.observe?.({ service, method: method.name, type: method.methodKind });
    const isUnary = method.methodKind === "unary";
    if (isUnary) this.#unary++;
    return (code) => {
      left?.(code);
      if (isUnary && --this.#unary === 0) for (const resolve of this.#onAnswered) resolve();
    };
  }

  onBug(method: string, thrown: unknown): void {
    this.#options.log.error("a call has failed", { method, error: messageOf(thrown), stack: toError(thrown).stack });
  }
}

/** grpc-js takes no service without a method. */
const unimplemented = (): Promise<never> =>
  Promise.reject(new RpcError("UNIMPLEMENTED", "the method is not served here"));

/** Makes grpc-js call the handlers of a service. */
function register(server: Server, host: ListenerHost, { descriptor, handlers, name }: RpcService): void {
  const methods = Object.entries(descriptor.method);
  const definition = methods.map(([local, method]) => [local, definitionOf(method, name ?? descriptor.typeName)]);
  const implementation = methods.map(([local, method]) => [
    local,
    implementationOf(host, method, handlers[local] ?? unimplemented),
  ]);
  server.addService(Object.fromEntries(definition), Object.fromEntries(implementation));
}

const isStreamed = {
  unary: [false, false],
  server_streaming: [false, true],
  client_streaming: [true, false],
  bidi_streaming: [true, true],
} as const;

const sameBytes = (bytes: Uint8Array): Uint8Array => bytes;
/** The same memory: grpc-js takes nothing but buffers. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function definitionOf(method: DescMethod, service: string): MethodDefinition<Uint8Array, Uint8Array> {
  const [requestStream, responseStream] = isStreamed[method.methodKind];
  return {
    path: `/${service}/${method.name}`,
    requestStream,
    responseStream,
    requestSerialize: asBuffer,
    requestDeserialize: sameBytes,
    responseSerialize: asBuffer,
    responseDeserialize: sameBytes,
  };
}

type Answer = (refused: WireStatus | null, message?: Uint8Array) => void;

/** A call with one answer has a function for it; a stream of answers ends itself. */
const implementationOf = (host: ListenerHost, method: DescMethod, handler: unknown) =>
  function run(call: WireCall, callback?: Answer): void {
    const answer = callback ?? ((refused) => endStream(call, refused));
    if (host.isRefusing) return answer(wireRefusal(host));
    void runCall(host, method, handler, call, answer);
  };

const wireRefusal = (host: ListenerHost): WireStatus => {
  const { message } = shutdown();
  return { code: 14, details: message, metadata: host.newMetadata() };
};

function endStream(call: WireCall, refused: WireStatus | null): void {
  if (!("write" in call)) return;
  if (refused === null) call.end();
  else call.emit("error", refused);
}
