import { createReadStream } from "node:fs";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseRange } from "./byte-range.ts";
import { DoorRefusal } from "./refusal.ts";

type Headers = Readonly<Record<string, string | number>>;

/** A request and its answer, over HTTP/1.1 or HTTP/2. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One JSON value. HEAD gets the headers of GET. */
export function sendJson(
  { request, response }: Exchange,
  value: unknown,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Headers } = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length, ...headers });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** The signal aborts when the client disconnects. */
export type Body = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

/** Streams at the client's pace. Errors after the headers cut the connection: partial answers are recognised. */
export function sendStream(
  { request, response }: Exchange,
  { status = 200, headers, body }: { readonly status?: number; readonly headers: Headers; readonly body: Body },
): void {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  response.writeHead(status, { ...headers });
  // The first bytes may take long.
  response.flushHeaders();
  if (request.method === "HEAD") response.end();
  else void write(response, body, gone);
}

async function write(response: ServerResponse, body: Body, gone: AbortController): Promise<void> {
  const { signal } = gone;
  try {
    for await (const piece of body(signal)) {
      if (signal.aborted) return;
      if (!response.write(piece)) await once(response, "drain", { signal });
    }
    response.end();
  } catch {
    // Headers are sent: a broken connection is the only way to report it.
    response.destroy();
  }
}

interface Content {
  readonly size: number;
  readonly contentType: string;
  /** Of a file to save. */
  readonly name?: string;
  readonly sha256?: string | undefined;
  readonly headers?: Headers;
}

export interface BytesContent extends Content {
  /** Bytes from `start` up to `end`, which is not included. */
  readonly read: (start: number, end: number, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

const pieceBytes = 256 * 1024;

/** A file, with the rules of `sendBytes`. */
export const sendFile = (exchange: Exchange, { path, ...content }: Content & { readonly path: string }): void =>
  sendBytes(exchange, {
    ...content,
    read: (start, end, signal) => createReadStream(path, { start, end: end - 1, highWaterMark: pieceBytes, signal }),
  });

/** Supports ranges and conditional requests (RFC 9110 13, 14). Throws a `DoorRefusal` for a range beyond the end. */
export function sendBytes(exchange: Exchange, content: BytesContent): void {
  const { size, contentType, name, sha256, read } = content;
  const { headers: asked } = exchange.request;
  const tag = sha256 === undefined ? undefined : `"${sha256}"`;
  const known: Headers = { ...content.headers, ...(tag === undefined ? {} : { etag: tag }), "accept-ranges": "bytes" };
  if (tag !== undefined && names(asked["if-none-match"], tag))
    return sendStream(exchange, { status: 304, headers: known, body: nothing });
  const only = asked["if-range"];
  const range = only === undefined || only === tag ? parseRange(asked.range, size) : undefined;
  if (range === "bad")
    throw new DoorRefusal("range-not-satisfiable", `expected a part of ${size} bytes, found ${asked.range}`, {
      headers: { "content-range": `bytes */${size}` },
    });
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const headers: Headers = {
    ...known,
    "content-type": contentType,
    "content-length": last - first + 1,
    ...(name === undefined ? {} : { "content-disposition": disposition(name) }),
    // Built content must not be sniffed or run by browsers.
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    ...(range === undefined ? {} : { "content-range": `bytes ${first}-${last}/${size}` }),
  };
  const body: Body = (signal) => (last < first ? nothing() : read(first, last + 1, signal));
  sendStream(exchange, { status: range === undefined ? 200 : 206, headers, body });
}

async function* nothing(): AsyncGenerator<Buffer, void> {
  // Empty.
}

/** Weak tags match. */
const names = (header: string | undefined, tag: string): boolean =>
  header?.trim() === "*" || (header?.split(",") ?? []).some((one) => one.trim().replace(/^W\//, "") === tag);

/** RFC 6266 with an ASCII fallback. */
function disposition(name: string): string {
  const plain = name.replace(/[^ !#-$&-[\]-~]/g, "_");
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
