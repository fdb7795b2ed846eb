import { EventEmitter } from "node:events";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { MethodDefinition, Server } from "@grpc/grpc-js";
import type { DescMethod } from "@bufbuild/protobuf";
import { afterAwake, type Cancel, type Clock, aborted } from "#lib/base/index.ts";
import { type CallHost, runCall, type WireCall, type WireStatus } from "./call.ts";
import { FrameCounter } from "./frame-reader.ts";
import { Keepalive, type KeepaliveTimes, type PingedSession } from "./keepalive.ts";
import { MessageDeadline, messageMs } from "./message-deadline.ts";
import { reflectionServices } from "./reflection.ts";
import { type RpcService, service } from "./service.ts";
import { RpcError, shutdown } from "./status.ts";
import type { TlsFiles, TlsPaths } from "./tls-files.ts";
import { Health, HealthCheckResponse_ServingStatus } from "./gen/grpc/health/v1/health_pb.js";

export interface SpeakerOptions {
  /** A function is called by the first connection. */
  readonly services: readonly RpcService[] | (() => Promise<readonly RpcService[]>);
  /** Plaintext without. */
  readonly tls?: TlsPaths;
  /** Pings that notice a connection without an other end. */
  readonly keepalive?: KeepaliveTimes;
  /** Default: 4 MiB. */
  readonly maxMessageBytes?: number;
  /** Of one connection; default: any number. */
  readonly maxStreams?: number;
  /** Asked first for each request; what it takes is its own to answer. Must not throw. */
  readonly takes?: TakeStream;
}

/** True if it answers the HTTP/2 request itself. */
export type TakeStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
) => boolean;

/** The listener's side of calls, whether grpc-js is loaded or not. */
export interface SpeakerHost extends Omit<CallHost, "newMetadata"> {
  /** Refuses new calls. */
  isRefusing(): boolean;
  /** Calls have been told to end. */
  isClosed(): boolean;
}

type Host = CallHost & SpeakerHost;

/** A loaded grpc-js. It has no port and serves the connections it is given. */
export interface Speaker {
  inject(socket: Socket): void;
  /** Resolves when all connections have ended. */
  end(): Promise<void>;
  kill(): void;
}

/** Loading grpc-js takes time and some megabytes. */
export async function loadSpeaker(
  options: SpeakerOptions,
  host: SpeakerHost,
  tls: TlsFiles | undefined,
  clock: Clock,
): Promise<Speaker> {
  const { maxMessageBytes = 4 * 1024 * 1024, maxStreams, takes, keepalive, services: own } = options;
  const [grpc, given] = await Promise.all([import("@grpc/grpc-js"), typeof own === "function" ? own() : own]);
  const server = new grpc.Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
    // Records for a debugging service that is not served here.
    "grpc.enable_channelz": 0,
    ...(maxStreams === undefined ? {} : { "grpc.max_concurrent_streams": maxStreams }),
  });
  const calls: Host = {
    onClosing: (end) => host.onClosing(end),
    isClosed: () => host.isClosed(),
    isRefusing: () => host.isRefusing(),
    enter: (method, path) => host.enter(method, path),
    onBug: (method, thrown) => host.onBug(method, thrown),
    newMetadata: () => new grpc.Metadata(),
  };
  const names = new Set(given.map(({ descriptor, name }) => name ?? descriptor.typeName));
  const services = [...given, healthService(names, () => host.isClosed())];
  for (const each of [...services, ...reflectionServices(services)]) register(server, calls, each);
  const injector = server.createConnectionInjector(
    tls === undefined
      ? grpc.ServerCredentials.createInsecure()
      : grpc.experimental.createCertificateProviderServerCredentials(
          // The declaration has these two swapped.
          tls,
          options.tls?.clientCa === undefined ? null : tls,
          options.tls?.clientCa !== undefined,
        ),
  );
  expectRequests(http2ServerOf(server), services, clock);
  if (takes !== undefined) askFirst(http2ServerOf(server), takes);
  const pings = keepalive === undefined ? undefined : new Keepalive(clock, keepalive);
  if (pings !== undefined) http2ServerOf(server).on("session", (session: PingedSession) => pings.add(session));
  // grpc-js refuses connections until it has its certificates, a moment later.
  await new Promise<void>((resolve) => setImmediate(resolve));
  return {
    inject: (socket) => injector.injectConnection(socket),
    end: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
    kill() {
      pings?.close();
      server.forceShutdown();
    },
  };
}

/**
 * The HTTP/2 server that grpc-js keeps private. Needed because its own pings take two timers and a wake-up per
 * connection, more than all else of 10,000 idle agents. Throws if grpc-js has changed.
 */
function http2ServerOf(server: Server): EventEmitter {
  const servers: unknown = Reflect.get(server, "http2Servers");
  const [made]: unknown[] = servers instanceof Map ? [...servers.keys()] : [];
  if (!(made instanceof EventEmitter)) throw new Error("grpc-js has no http2Servers, which pings need");
  return made;
}

/** Ends calls with slow messages; see `MessageDeadline`. */
function expectRequests(http2Server: EventEmitter, services: readonly RpcService[], clock: Clock): void {
  const kinds = new Map(
    services.flatMap(({ descriptor, name = descriptor.typeName }) =>
      descriptor.methods.map(({ name: method, methodKind }) => [`/${name}/${method}`, isStreamed[methodKind][0]]),
    ),
  );
  http2Server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const isStream = kinds.get(String(headers[":path"]));
    if (isStream === undefined) return;
    const end = (): void => stream.close(constants.NGHTTP2_CANCEL);
    const cancel = isStream ? expectMessages(stream, clock, end) : afterAwake(clock, messageMs, end);
    stream.once("end", cancel).once("close", cancel);
  });
}

function expectMessages(stream: ServerHttp2Stream, clock: Clock, late: () => void): Cancel {
  const counter = new FrameCounter();
  const deadline = new MessageDeadline(clock, stream, counter, late);
  // grpc-js reads and pauses the stream; this only watches.
  stream.on("data", (piece: Buffer) => {
    counter.push(piece);
    deadline.noted();
  });
  return () => deadline.cancel();
}

function askFirst(http2Server: EventEmitter, takes: TakeStream): void {
  const others = http2Server.listeners("stream");
  if (others.length === 0) throw new Error("grpc-js listens for no streams, which those that are not taken need");
  http2Server.removeAllListeners("stream");
  http2Server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: string[]) => {
    if (takes(stream, headers, raw)) return;
    for (const other of others) Reflect.apply(other, http2Server, [stream, headers, flags, raw]);
  });
}

/** grpc-js takes no service without a method. */
const unimplemented = (): Promise<never> =>
  Promise.reject(new RpcError("UNIMPLEMENTED", "the method is not served here"));

function register(server: Server, host: Host, { descriptor, handlers, name }: RpcService): void {
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
/** grpc-js takes only buffers; the memory is shared. */
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

const implementationOf = (host: Host, method: DescMethod, handler: unknown) =>
  function run(call: WireCall, callback?: Answer): void {
    const answer = callback ?? ((refused) => endStream(call, refused));
    if (host.isRefusing()) return answer(wireRefusal(host));
    void runCall(host, method, handler, call, answer);
  };

const wireRefusal = (host: Host): WireStatus => {
  return { code: 14, details: shutdown.message, metadata: host.newMetadata() };
};

function endStream(call: WireCall, refused: WireStatus | null): void {
  if (!("write" in call)) return;
  if (refused === null) call.end();
  else call.emit("error", refused);
}

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;

/** The standard health service. The empty name means the server as a whole. */
function healthService(names: ReadonlySet<string>, isClosing: () => boolean): RpcService {
  const isKnown = (name: string): boolean => name === "" || names.has(name);
  const now = () => ({ status: isClosing() ? NOT_SERVING : SERVING });
  return service(Health, {
    async check({ service: name }) {
      if (!isKnown(name)) throw new RpcError("NOT_FOUND", `there is no service "${name}" here`);
      return now();
    },
    async watch({ service: name }, replies, { signal }) {
      // An unknown service may appear later, so watching it is no error.
      replies.send(isKnown(name) ? now() : { status: SERVICE_UNKNOWN });
      await aborted(signal);
      if (isKnown(name)) replies.send(now());
      throw signal.reason;
    },
  });
}
