import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError } from "#kernel/model/index.ts";
import { codeOf } from "#lib/base/index.ts";

/** What Node found wrong with a request, by its code; what else its parser refuses (`HPE_…`) is no HTTP at all. */
const refusals: ReadonlyMap<string | undefined, readonly [code: number, message: string]> = new Map([
  ["HPE_HEADER_OVERFLOW", [431, "the headers of the request are larger than 16 KiB"]],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", [413, "the extensions of a chunk of the body are too large"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", [408, "the request did not come in time"]],
]);

/**
 * The whole answer to what could not be read as a request, and so has no response: a Status like every other refusal. The connection
 * is not used again.
 */
export function protocolRefusal(error: Error): string {
  const [code, message] = refusals.get(codeOf(error)) ?? [400, "the request cannot be read as HTTP/1.1"];
  const refusal = new ApiError(code === 413 ? "RequestEntityTooLarge" : "BadRequest", message, { code });
  const body = `${JSON.stringify(refusal.toStatus())}\n`;
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/**
 * Answers with it and ends the connection. Without a word where an answer is under way, which nothing may be put into, and where there
 * is nobody to read one: after a handshake that failed, or a connection that broke.
 */
export function refuseProtocol(error: Error, socket: Duplex, isAnswering: boolean): void {
  const code = codeOf(error) ?? "";
  const isOfRequest = code.startsWith("HPE_") || refusals.has(code);
  if (isOfRequest && socket.writable && !isAnswering) socket.end(protocolRefusal(error), () => socket.destroy());
  else socket.destroy();
}
