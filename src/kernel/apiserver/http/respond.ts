import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { ApiError, type Status } from "#kernel/model/index.ts";
import { toError } from "#lib/base/index.ts";
import { drained } from "./drained.ts";
import type { Exchange } from "./exchange.ts";

const gzipThresholdBytes = 128 * 1024;
const maxWarningBytes = 4096;

/** An answer whose body is at hand, whole or in parts. */
export interface Reply {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer | readonly Buffer[];
  readonly warnings?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the reply and resolves when the connection has taken it. */
export async function send(exchange: Exchange, reply: Reply): Promise<void> {
  const { response, request } = exchange;
  const parts = Buffer.isBuffer(reply.body) ? [reply.body] : reply.body;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  setHeaders(response, reply);
  if (request.method === "HEAD") {
    response.setHeader("Content-Length", length);
    response.end();
  } else if (length >= gzipThresholdBytes && acceptsGzip(request.headers["accept-encoding"])) {
    response.setHeader("Content-Encoding", "gzip");
    response.setHeader("Vary", "Accept-Encoding");
    await pipeline(Readable.from(parts), createGzip({ level: 1 }), response);
  } else {
    response.setHeader("Content-Length", length);
    await sendParts(exchange, parts);
  }
}

async function sendParts({ response }: Exchange, parts: readonly Buffer[]): Promise<void> {
  const last = parts.length - 1;
  for (const [index, part] of parts.entries()) {
    if (index === last) response.end(part);
    // Large answers go out at the pace of their reader, and let others have their turn.
    else if (!response.write(part)) await drained(response);
  }
  if (last < 0) response.end();
}

function setHeaders(response: ServerResponse, reply: Reply): void {
  response.statusCode = reply.code;
  response.setHeader("Content-Type", reply.contentType);
  setWarnings(response, reply.warnings ?? []);
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
}

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

/** Any thrown value as a refusal; what is not one is a bug and is told to nobody but the log. */
export const refusalOf = (thrown: unknown): ApiError =>
  thrown instanceof ApiError
    ? thrown
    : new ApiError("InternalError", `Internal error occurred: ${toError(thrown).message}`, { cause: thrown });

/** Sends a Status. After the answer has begun nothing can be said any more, so the connection is cut. */
export function sendStatus(
  response: ServerResponse,
  status: Status,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
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

export const jsonReply = (value: unknown, code = 200): Reply => ({
  code,
  contentType: "application/json",
  body: Buffer.from(`${JSON.stringify(value)}\n`),
});

export const textReply = (text: string, code = 200): Reply => ({
  code,
  contentType: "text/plain; charset=utf-8",
  body: Buffer.from(text),
});
