import { onAbort, toError } from "#lib/base/index.ts";
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import type { Handler } from "../pod-types.ts";
import type { Knock } from "./container-reach.ts";

// gRPC's health protocol (grpc/grpc, doc/health-checking.md): one call with two messages of one field each, for which a
// gRPC library would be too much.

const statuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;
const ok = "0";
const unimplemented = "12";

/** Not compressed, and the length. */
const prefixBytes = 5;
const mostBytes = 1_024;
const [textTag, numberTag] = [0x0a, 0x08];

/** Succeeds if the service is serving. Rejects if nothing answers, or with the signal's reason. */
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
      removeListener();
      session.destroy();
    };
    const fail = (thrown: unknown) => {
      end();
      reject(toError(thrown));
    };
    const removeListener = onAbort(signal, () => fail(signal.reason));
    // The first error counts, and none may be without a listener.
    session.on("error", fail);
    const call = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      "user-agent": "kube-probe/1.33",
      te: "trailers",
    });
    // Without a body the call's state comes with the first headers, else with the trailers.
    const told: Told = {};
    const pieces: Buffer[] = [];
    let bytes = 0;
    call.on("response", (headers) => Object.assign(told, headers));
    call.on("trailers", (headers) => Object.assign(told, headers));
    call.on("data", (piece: Buffer) => {
      if ((bytes += piece.length) <= mostBytes) pieces.push(piece);
    });
    call.on("error", (thrown: Error) => fail(thrown.cause ?? thrown));
    call.once("end", () => {
      end();
      resolve(judge(told, Buffer.concat(pieces)));
    });
    call.end(frame(requestFor(service)));
  });
}

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
    return text;
  }
}

function statusOf(message: Buffer): string {
  const number = message[0] === numberTag ? (message[1] ?? 0) : 0;
  return statuses[number] ?? String(number);
}
