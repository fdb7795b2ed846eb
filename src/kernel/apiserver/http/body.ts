import type { IncomingMessage } from "node:http";
import { formatProblem, type JsonValue } from "#lib/base/index.ts";
import { readJson } from "#lib/json/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { badRequest, tooLarge, unsupportedMediaType } from "../verbs/refusals.ts";

/** A decoded body; `duplicates` are the paths of keys that one object holds twice. */
export interface DecodedBody {
  readonly value: JsonValue | undefined;
  readonly duplicates: readonly string[];
}

const objectMediaTypes = ["application/json", "application/yaml"];
const empty: DecodedBody = { value: undefined, duplicates: [] };

/** The whole body, or 413 as soon as it is known to be too large. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(request.headers["content-length"] ?? "0");
  const refuse = () => tooLarge(`the body of the request is larger than ${maxBytes} bytes`);
  if (announced > maxBytes) throw refuse();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw refuse();
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** The media type of the body without its parameters; what a request without one is taken for is the caller's to say. */
export function mediaTypeOf(request: IncomingMessage): string | undefined {
  const header = request.headers["content-type"];
  return header === undefined ? undefined : (header.split(";")[0] ?? "").trim().toLowerCase();
}

/** Objects may come as JSON or YAML. A missing type means JSON, but never for a browser, which would send it unasked. */
export function decodeObject(bytes: Buffer, request: IncomingMessage, maxDepth: number): DecodedBody {
  const type = mediaTypeOf(request) ?? (request.headers.origin === undefined ? "application/json" : "");
  if (bytes.length === 0 && request.headers["content-type"] === undefined) return empty;
  switch (type) {
    case "application/json":
      return bytes.length === 0 ? empty : decodeJson(bytes, maxDepth);
    case "application/yaml":
      return decodeYaml(bytes);
    case "application/vnd.kubernetes.protobuf":
      throw unsupportedMediaType(`${type}: protobuf bodies are not accepted by this server yet`, objectMediaTypes);
    default:
      throw unsupportedMediaType(type, objectMediaTypes);
  }
}

export function decodeJson(bytes: Buffer, maxDepth: number): DecodedBody {
  const read = readJson(bytes, { maxDepth });
  if (!read.ok) {
    const { message, line, column } = read.error;
    throw badRequest(`the body of the request cannot be read as JSON: line ${line}, column ${column}: ${message}`);
  }
  return { value: read.value.value, duplicates: read.value.duplicates.map(({ path }) => path) };
}

function decodeYaml(bytes: Buffer): DecodedBody {
  const read = readYaml(bytes.toString("utf8"), { file: "body" });
  if (!read.ok)
    throw badRequest(`the body of the request cannot be read as YAML: ${read.error.map(formatProblem).join("; ")}`);
  if (read.value.documents.length > 1) throw badRequest("the body of the request holds more than one YAML document");
  return { value: read.value.documents[0]?.value, duplicates: [] };
}
