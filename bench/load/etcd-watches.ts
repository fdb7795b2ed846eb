import { awaitDeliveries } from "./deliveries.ts";
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";

// etcd as the peer of watches, without TLS: watchers of one prefix, each on a connection of its own, and ten writers. gRPC is spoken
// by hand, because a library's client would be what is measured. Messages: ../peers/etcd.proto.

const keyOf = (index: number): Buffer => Buffer.from(`/registry/items/item-${index}`);
const [prefix, prefixEnd] = [Buffer.from("/registry/items/"), Buffer.from("/registry/items0")];
const inFlight = 10;
const frameHead = 5;
const lengthDelimited = 2;

const state: { delivered: number; failure: Error | undefined; sessions: ClientHttp2Session[] } = {
  delivered: 0,
  failure: undefined,
  sessions: [],
};

/** Resolves when all of them watch. */
export async function connect({ port, watchers }: { readonly port: number; readonly watchers: number }): Promise<void> {
  for (let at = 0; at < watchers; at++) await watch(sessionTo(port));
}

function sessionTo(port: number): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on("error", fail);
  state.sessions.push(session);
  return session;
}

const fail = (error: Error): void => void (state.failure ??= error);

const call = (session: ClientHttp2Session, method: string): ClientHttp2Stream =>
  session
    .request({
      ":method": "POST",
      ":path": `/etcdserverpb.${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    })
    .on("error", fail);

/** Every watcher sees to it that no revision is missing. */
function watch(session: ClientHttp2Session): Promise<void> {
  const stream = call(session, "Watch/Watch");
  const request = lengthPrefixed(1, Buffer.concat([lengthPrefixed(1, prefix), lengthPrefixed(2, prefixEnd)]));
  stream.write(framed(request));
  let last = 0;
  return new Promise((resolve, reject) => {
    stream.once("close", () => reject(new Error("a watch has ended")));
    eachMessage(stream, (message) => {
      for (const { number, start, end } of fieldsOf(message, 0, message.length)) {
        if (number === 3) resolve();
        if (number !== 11) continue;
        const revision = revisionOf(message, start, end);
        if (last !== 0 && revision !== last + 1) return fail(new Error(`revision ${revision} came after ${last}`));
        last = revision;
        state.delivered++;
      }
    });
  });
}

/** An Event's `kv.mod_revision`. */
function revisionOf(message: Buffer, start: number, end: number): number {
  for (const event of fieldsOf(message, start, end)) {
    if (event.number !== 2) continue;
    for (const { number, value } of fieldsOf(message, event.start, event.end)) if (number === 3) return value;
  }
  return NaN;
}

/** Waits until `expected` events have been delivered in all since the last call. */
export const delivery = ({ expected }: { readonly expected: number }): Promise<void> =>
  awaitDeliveries(state, expected);

/** Writes the first keys for `ms`, ten at once; answers how many writes there were. For a process that does not watch. */
export async function churn({
  port,
  ms,
  bytes,
}: {
  readonly port: number;
  readonly ms: number;
  readonly bytes: number;
}) {
  const session = sessionTo(port);
  const end = performance.now() + ms;
  let writes = 0;
  const write = async (index: number): Promise<void> => {
    do {
      const text = JSON.stringify({ kind: "Item", count: ++writes });
      const value = Buffer.from(text.padEnd(bytes));
      await put(session, Buffer.concat([lengthPrefixed(1, keyOf(index)), lengthPrefixed(2, value)]));
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, index) => write(index)));
  session.close();
  return writes;
}

function put(session: ClientHttp2Session, request: Buffer): Promise<void> {
  const stream = call(session, "KV/Put");
  stream.end(framed(request));
  return new Promise((resolve, reject) => {
    let status = "none";
    stream.on("trailers", (trailers) => (status = String(trailers["grpc-status"])));
    stream.once("close", () => (status === "0" ? resolve() : reject(new Error(`a write was refused: ${status}`))));
    stream.resume();
  });
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(frameHead);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A field of bytes, or of a message. */
function lengthPrefixed(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left > 127 ? (left & 127) | 128 : left);
    if (left <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | lengthDelimited, ...length]), bytes]);
}

function eachMessage(stream: ClientHttp2Stream, take: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= frameHead) {
      const end = frameHead + rest.readUInt32BE(1);
      if (rest.length < end) return;
      take(rest.subarray(frameHead, end));
      rest = rest.subarray(end);
    }
  });
}

interface Field {
  readonly number: number;
  /** Of a number. */
  readonly value: number;
  /** Of bytes and messages. */
  readonly start: number;
  readonly end: number;
}

/** The messages read here have no fields but numbers and bytes. */
function* fieldsOf(bytes: Buffer, from: number, to: number): Generator<Field> {
  let at = from;
  const varint = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  while (at < to) {
    const tag = varint();
    const value = varint();
    const start = at;
    if ((tag & 7) === lengthDelimited) at += value;
    yield { number: tag >>> 3, value, start, end: at };
  }
}
