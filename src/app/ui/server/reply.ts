import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { ApiError, badRequest, unsupportedMediaType } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";

/** Headers of every answer: nothing may show it in a frame, guess its type or learn where a link came from. */
const protection: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

export function protect(response: ServerResponse): void {
  for (const [name, value] of Object.entries(protection)) response.setHeader(name, value);
}

/** At the reader's pace. A failure in the middle cuts the connection: what came does not look complete. */
export async function sendBytes(response: ServerResponse, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const bytes = chunks[Symbol.asyncIterator]();
  // A refusal comes before the first chunk.
  const first = await bytes.next();
  response.statusCode = 200;
  response.setHeader("Content-Type", "application/octet-stream");
  if (first.done !== true) response.write(first.value);
  await pipeline({ [Symbol.asyncIterator]: () => bytes }, response);
}

export function sendJson(response: ServerResponse, value: unknown, code = 200): void {
  const body = Buffer.from(JSON.stringify(value));
  response.statusCode = code;
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Content-Length", body.length);
  response.end(body);
}

/** A document to check is the longest. */
const maxBodyBytes = 3 * 1024 * 1024;

/** The body as a JSON object. Refuses other types, which forms could send, and more than 3 MiB. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json") throw unsupportedMediaType(type, ["application/json"]);
  const value = parse((await readBytes(request)).toString());
  if (!isJsonObject(value)) throw badRequest("expected a JSON object as body");
  return value;
}

/** The body; refuses more than 3 MiB. */
export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes)
      throw new ApiError("RequestEntityTooLarge", `the body is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("the body is not JSON");
  }
}

/** The parts between the slashes of a path. */
export function decodedParts(path: string): readonly string[] {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    throw new ApiError("BadRequest", "the path is not percent-encoded");
  }
}

/** A whole number in these bounds, or the default when absent. */
export function wholeNumber(
  query: URLSearchParams,
  name: string,
  { least, most, initial }: { readonly least: number; readonly most: number; readonly initial: number },
): number {
  const text = query.get(name);
  if (text === null || text === "") return initial;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw badRequest(`${name}: expected a whole number from ${least} to ${most}, found ${JSON.stringify(text)}`);
  return value;
}
