import type { ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { ApiError, type Status } from "#kernel/model/index.ts";
import { codeOf, toError } from "#lib/base/index.ts";
import { jsonIndenter } from "#lib/json/index.ts";
import type { Exchange } from "./exchange.ts";
import { wantsIndent } from "./query.ts";

/** Below this a loopback connection is faster than the compression; clients across networks list in pages anyway. */
const gzipThresholdBytes = 128 * 1024;
/** What is laid out for people in one turn of the event loop. */
const pieceBytes = 64 * 1024;
/** Answers up to this size go out at once: with their headers they are below what a connection of Node buffers (16 KiB). */
const smallBytes = 8 * 1024;
/** Of the whole, kept back until the rest has been taken. */
const tailBytes = 1024;
/** Warnings are headers, and clients have limits for those. */
const maxWarningBytes = 4096;

/** Pieces of any size, such as those of stored objects. */
export type Part = readonly Buffer[];
type Parts = AsyncIterable<Part> | Iterable<Part>;

/** A large body that is made while it is sent. */
export interface Streamed {
  /**
   * Read once, in order, at the pace of the reader; not at all for HEAD. What it throws cuts the answer off. A part is what one turn of the
   * event loop is for; its pieces are put together when they are sent.
   */
  readonly parts: AsyncIterable<Part>;
  /** Bytes of all parts, when that is known before. */
  readonly length?: number;
}

/** An answer whose body is at hand, or is made on the way. Its bytes may be those of stored objects: nobody changes them. */
export interface Reply {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer | Streamed;
  readonly warnings?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A reply of one piece, as all but lists are. */
export interface WholeReply extends Reply {
  readonly body: Buffer;
}

/**
 * Sends the reply and resolves when the connection has taken it. HEAD gets the headers of GET. Large bodies are compressed (level 1)
 * for callers who take gzip; the length is not known then. JSON is laid out for people who ask for it.
 */
export async function send(exchange: Exchange, reply: Reply): Promise<void> {
  const { response, request, query } = exchange;
  const isForPeople =
    reply.contentType.startsWith("application/json") && wantsIndent(query, request.headers["user-agent"]);
  const body = isForPeople ? indented(reply.body) : reply.body;
  const { length } = body;
  setHeaders(response, reply);
  const isPacked =
    request.method !== "HEAD" &&
    (length ?? gzipThresholdBytes) >= gzipThresholdBytes &&
    acceptsGzip(request.headers["accept-encoding"]);
  if (isPacked) {
    response.setHeader("Content-Encoding", "gzip");
    response.setHeader("Vary", "Accept-Encoding");
    const packed = pipeline(Readable.from(joined(partsOf(body))), createGzip({ level: 1 }), () => undefined);
    return sendParts(exchange, single(packed as AsyncIterable<Buffer>));
  }
  if (length !== undefined) response.setHeader("Content-Length", length);
  if (request.method === "HEAD") response.end();
  else if (Buffer.isBuffer(body) && body.length <= smallBytes) response.end(body);
  else await sendParts(exchange, partsOf(body));
}

const partsOf = (body: Buffer | Streamed): Parts => (Buffer.isBuffer(body) ? [[body]] : body.parts);

/** For whoever looks ahead, and would find something else in memory that is used again. */
async function* joined(parts: Parts): AsyncGenerator<Buffer, void> {
  for await (const part of parts) {
    const bytes = Buffer.concat(part);
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
}

async function* single(pieces: AsyncIterable<Buffer>): AsyncGenerator<Part, void> {
  for await (const piece of pieces) yield [piece];
}

function indented(body: Buffer | Streamed): Buffer | Streamed {
  const indent = jsonIndenter();
  if (Buffer.isBuffer(body) && body.length <= pieceBytes) return indent(body);
  const parts = async function* () {
    for await (const piece of joined(partsOf(body))) {
      yield [indent(piece)];
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { parts: parts() };
}

/**
 * At the pace of the reader; one that goes away ends the making too. The end is small and goes out when all before it has been taken: who has
 * the whole answer sends his next request at once, and while more than 16 KiB wait to be sent, Node pauses the parser. Of a body that comes
 * in several TLS records the second one is then an error (HPE_PAUSED), and the connection is lost.
 */
async function sendParts({ response, readers }: Exchange, parts: Parts): Promise<void> {
  const buffer = readers.buffers.take();
  let filled = 0;
  for await (const part of parts) {
    for (const piece of part) {
      for (let at = 0; at < piece.length; ) {
        if (filled === buffer.length) {
          if (!(await readers.write(response, buffer))) return;
          filled = 0;
        }
        const copied = piece.copy(buffer, filled, at);
        at += copied;
        filled += copied;
      }
    }
    if (response.destroyed) return;
  }
  const rest = Math.max(0, filled - tailBytes);
  if (rest > 0 && !(await readers.write(response, buffer.subarray(0, rest)))) return;
  response.end(Buffer.from(buffer.subarray(rest, filled)));
  readers.buffers.give(buffer);
}

function setHeaders(response: ServerResponse, reply: Reply): void {
  response.statusCode = reply.code;
  response.setHeader("Content-Type", reply.contentType);
  setWarnings(response, reply.warnings ?? []);
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
}

/** gzip is named, and not with a quality of 0. */
const acceptsGzip = (header: string | string[] | undefined): boolean =>
  /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(String(header ?? ""));

/** `Warning: 299 - "…"`, each text once, 4 KiB in total; what does not fit is left out. */
export function setWarnings(response: ServerResponse, warnings: readonly string[]): void {
  const values: string[] = [];
  let bytes = 0;
  for (const text of new Set(warnings)) {
    // A header can hold neither line breaks nor characters beyond Latin-1.
    const plain = text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/(["\\])/g, "\\$1");
    bytes += plain.length;
    if (bytes > maxWarningBytes) break;
    values.push(`299 - "${plain}"`);
  }
  if (values.length > 0) response.setHeader("Warning", values);
}

/** What the store says that passes, as clients of Kubernetes know it: they wait so many seconds, and try again. */
const passing: ReadonlyMap<string | undefined, readonly ["ServiceUnavailable" | "TooManyRequests", number]> = new Map([
  ["store-full", ["ServiceUnavailable", 5]],
  ["store-closed", ["ServiceUnavailable", 1]],
  ["store-busy", ["TooManyRequests", 1]],
]);

/** Any thrown value as a refusal; what is not one is a bug, or a broken disk: 500 with its message, its stack for the log only. */
export function refusalOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const { message } = toError(thrown);
  const known = passing.get(codeOf(thrown));
  if (known === undefined) {
    return new ApiError("InternalError", `Internal error occurred: ${message}`, { cause: thrown });
  }
  const [reason, retryAfterSeconds] = known;
  return new ApiError(reason, message, { details: { retryAfterSeconds }, cause: thrown });
}

/** More of an answer that is a Status. */
export interface SendStatus {
  readonly headers?: Readonly<Record<string, string>>;
  /** Laid out, as `wantsIndent` says. */
  readonly isForPeople?: boolean;
}

/**
 * Sends a Status. After the answer has begun nothing can be said any more, so the connection is cut: a client must not take half an
 * answer for a whole one. `Retry-After` and `WWW-Authenticate` follow from the Status.
 */
export function sendStatus(
  response: ServerResponse,
  status: Status,
  { headers = {}, isForPeople = false }: SendStatus = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const plain = Buffer.from(`${JSON.stringify(status)}\n`);
  const body = isForPeople ? jsonIndenter()(plain) : plain;
  response.statusCode = status.code;
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Content-Length", body.length);
  for (const [name, value] of Object.entries({ ...headersOf(status), ...headers })) response.setHeader(name, value);
  response.end(body);
}

function headersOf(status: Status): Readonly<Record<string, string>> {
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }),
    ...(status.code === 401 ? { "WWW-Authenticate": "Bearer" } : {}),
  };
}

/** Ends with a newline, for terminals. */
export const jsonReply = (value: unknown, code = 200): WholeReply => ({
  code,
  contentType: "application/json",
  body: Buffer.from(`${JSON.stringify(value)}\n`),
});

export const textReply = (text: string, code = 200): WholeReply => ({
  code,
  contentType: "text/plain; charset=utf-8",
  body: Buffer.from(text),
});
