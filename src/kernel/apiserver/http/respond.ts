import type { ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { ApiError, type Status } from "#kernel/model/index.ts";
import { codeOf, toError } from "#lib/base/index.ts";
import { jsonIndenter } from "#lib/json/index.ts";
import type { Exchange } from "./exchange.ts";
import { wantsIndent } from "./query.ts";

/** Below this a loopback connection is faster than compression. */
const gzipThresholdBytes = 128 * 1024;
/** Indented in one turn of the event loop. */
const pieceBytes = 64 * 1024;
/** Smaller answers go out at once: with headers they fit in Node's buffer (16 KiB). */
const smallBytes = 8 * 1024;
/** Held back until the rest has been taken. */
const tailBytes = 1024;
/** Warnings are headers, which clients limit. */
const maxWarningBytes = 4096;

export type Part = readonly Buffer[];
type Parts = AsyncIterable<Part> | Iterable<Part>;

export interface Streamed {
  /** Read once at the reader's pace, not for HEAD. An error cuts the answer. Each part is one turn. */
  readonly parts: AsyncIterable<Part>;
  /** Of all parts, when known. */
  readonly length?: number;
}

/** The body may be stored bytes: nobody changes it. */
export interface Reply {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer | Streamed;
  readonly warnings?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WholeReply extends Reply {
  readonly body: Buffer;
}

/** Resolves when the connection has the reply. Large bodies are compressed (level 1); JSON indented on request. */
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

/** Copies, because the compressor reads ahead and parts share memory. */
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

/** Keeps the rest until earlier bytes are sent: while 16 KiB wait, Node pauses its parser, then fails (HPE_PAUSED). */
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

/** gzip is listed, and not with quality 0. */
const acceptsGzip = (header: string | string[] | undefined): boolean =>
  /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(String(header ?? ""));

/** `Warning: 299 - "…"`, each text once, 4 KiB in total; the rest is dropped. */
export function setWarnings(response: ServerResponse, warnings: readonly string[]): void {
  const values: string[] = [];
  let bytes = 0;
  for (const text of new Set(warnings)) {
    // Headers hold no line breaks and only Latin-1.
    const plain = text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/(["\\])/g, "\\$1");
    bytes += plain.length;
    if (bytes > maxWarningBytes) break;
    values.push(`299 - "${plain}"`);
  }
  if (values.length > 0) response.setHeader("Warning", values);
}

/** Temporary store failures, with the seconds after which clients retry. */
const passing: ReadonlyMap<string | undefined, readonly ["ServiceUnavailable" | "TooManyRequests", number]> = new Map([
  ["store-full", ["ServiceUnavailable", 5]],
  ["store-closed", ["ServiceUnavailable", 1]],
  ["store-busy", ["TooManyRequests", 1]],
]);

/** Any thrown value as a refusal; unknown ones are a 500 with their message. */
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

export interface SendStatus {
  readonly headers?: Readonly<Record<string, string>>;
  readonly isForPeople?: boolean;
}

/** Sends a Status, or cuts a begun answer, which would look complete. Adds `Retry-After`, `WWW-Authenticate`. */
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
