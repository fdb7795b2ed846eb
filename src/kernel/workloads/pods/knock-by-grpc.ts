import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import type { Handler } from "../pod-types.ts";
import type { Knock } from "./knock.ts";

// The health protocol of gRPC (grpc/grpc, doc/health-checking.md), of which a probe needs one call without TLS:
//
//   POST /grpc.health.v1.Health/Check   HealthCheckRequest{1 service}  ->  HealthCheckResponse{1 status}
//
// Two messages of one field each are no reason for a library of gRPC.

/** What an unhealthy service says it is; numbers are those of the protocol. */
const statuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;

/** Codes of gRPC that mean something here. */
const ok = "0";
const unimplemented = "12";

/** A message is told by five bytes: not compressed, and its length. */
const prefixBytes = 5;
/** The answer is two bytes long; whoever sends more than this sends something else. */
const mostBytes = 1_024;
/** Tags of a first field: a text, a number. */
const [textTag, numberTag] = [0x0a, 0x08];

/** Succeeds when the service says that it serves. Rejects when nothing answers, with the signal's reason when that aborts. */
export async function knockByGrpc(
  { port, service = "" }: NonNullable<Handler["grpc"]>,
  address: string,
  signal: AbortSignal,
): Promise<Knock> {
  const { connect } = await import("node:http2");
  signal.throwIfAborted();
  return new Promise<Knock>((resolve, reject) => {
    const session = connect(`http://${address.includes(":") ? `[${address}]` : address}:${port}`);
    const end = () => {
      signal.removeEventListener("abort", abort);
      session.destroy();
    };
    const fail = (thrown: unknown) => {
      end();
      reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
    };
    const abort = () => fail(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    // Of several errors the first one counts, and none may be without a listener.
    session.on("error", fail);
    const call = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      "user-agent": "kube-probe/1.33",
      te: "trailers",
    });
    // Without a body the state of the call comes with the first headers, else with the last ones.
    const told: Told = {};
    const pieces: Buffer[] = [];
    let bytes = 0;
    call.on("response", (headers) => Object.assign(told, headers));
    call.on("trailers", (headers) => Object.assign(told, headers));
    call.on("data", (piece: Buffer) => {
      if ((bytes += piece.length) <= mostBytes) pieces.push(piece);
    });
    // Where there was no connection the cause says why.
    call.on("error", (thrown: Error) => fail(thrown.cause ?? thrown));
    call.once("end", () => {
      end();
      resolve(judge(told, Buffer.concat(pieces)));
    });
    call.end(frame(requestFor(service)));
  });
}

/** The empty name, which means the server as a whole, is not written. */
function requestFor(service: string): Buffer {
  const name = Buffer.from(service);
  return name.length === 0 ? name : Buffer.concat([Buffer.from([textTag, ...varint(name.length)]), name]);
}

const varint = (number: number): readonly number[] =>
  number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...varint(number >> 7)];

function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

type Told = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** In the kubelet's words. */
function judge(told: Readonly<Told>, body: Buffer): Knock {
  const failure = (message: string): Knock => ({ succeeded: false, message });
  const code = told["grpc-status"];
  if (code === undefined) return failure(`error: health rpc failed: HTTP status ${told[":status"]}`);
  const detail = unescaped(String(told["grpc-message"] ?? ""));
  if (code === unimplemented)
    return failure(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${detail}`);
  if (code !== ok) return failure(`error: health rpc failed: code ${String(code)}: ${detail}`);
  const status = statusOf(body.subarray(prefixBytes));
  return status === "SERVING" ? { succeeded: true } : failure(`service unhealthy (responded with "${status}")`);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Told as it came: it is for people.
    return text;
  }
}

/** A field that is absent is 0. */
function statusOf(message: Buffer): string {
  const number = message[0] === numberTag ? (message[1] ?? 0) : 0;
  return statuses[number] ?? String(number);
}
