import type { IncomingMessage } from "node:http";
import type { JsonValue } from "#lib/base/index.ts";
import { decodeUtf8, readJson } from "#lib/json/index.ts";
import { badRequest, unsupportedMediaType } from "#kernel/model/index.ts";
import { decodeProtobuf, protobufMediaType } from "../wire/envelope.ts";
import type { BodyPieces } from "./body-pieces.ts";
import { largeBodyBytes } from "./large-bodies.ts";

/** Reads one YAML document, a large one in another thread (`YamlReader`). */
export type ReadYamlBody = (body: BodyPieces) => DecodedBody | Promise<DecodedBody>;

export interface BodyReaders {
  readonly maxDepth: number;
  readonly readYaml: ReadYamlBody;
  /** Awaited between two steps of some milliseconds. */
  readonly nextShare: () => Promise<void>;
}

/** A decoded body with the paths of duplicate keys. `value` is undefined without a body, which is not null. */
export interface DecodedBody {
  readonly value: JsonValue | undefined;
  readonly duplicates: readonly string[];
}

const objectMediaTypes = ["application/json", "application/yaml", protobufMediaType];
const empty: DecodedBody = { value: undefined, duplicates: [] };

/** The media type of the body without its parameters. */
export function mediaTypeOf(request: IncomingMessage): string | undefined {
  const header = request.headers["content-type"];
  return header === undefined ? undefined : (header.split(";")[0] ?? "").trim().toLowerCase();
}

/** JSON or YAML, protobuf for built-in kinds; else 415. Untyped is JSON, but not from browsers: forms send it. */
export async function decodeObject(
  body: BodyPieces,
  request: IncomingMessage,
  readers: BodyReaders,
): Promise<DecodedBody> {
  const { readYaml } = readers;
  const type = mediaTypeOf(request) ?? (request.headers.origin === undefined ? "application/json" : "");
  if (body.size === 0 && request.headers["content-type"] === undefined) return empty;
  switch (type) {
    case "application/json":
      return body.size === 0 ? empty : decodeJsonBody(body, readers);
    case "application/yaml":
      return readYaml(body);
    case protobufMediaType:
      return body.size === 0 ? empty : { value: decodeProtobuf(body.joined()), duplicates: [] };
    default:
      throw unsupportedMediaType(type, objectMediaTypes);
  }
}

/** 400 with line and column for invalid JSON, depth beyond `maxDepth`, and numbers that would lose precision. */
export function decodeJson(text: Buffer | string, maxDepth: number): DecodedBody {
  const read = readJson(text, { maxDepth });
  if (!read.ok) {
    const { message, line, column } = read.error;
    throw badRequest(`the body of the request cannot be read as JSON: line ${line}, column ${column}: ${message}`);
  }
  return { value: read.value.value, duplicates: read.value.duplicates.map(({ path }) => path) };
}

/** Like `decodeJson`, but a large body in steps, so that other requests get their turn. */
export async function decodeJsonBody(body: BodyPieces, { maxDepth, nextShare }: BodyReaders): Promise<DecodedBody> {
  const bytes = body.joined();
  if (bytes.length <= largeBodyBytes) return decodeJson(bytes, maxDepth);
  await nextShare();
  const text = decodeUtf8(bytes);
  if (!text.ok) return decodeJson(bytes, maxDepth);
  await nextShare();
  return decodeJson(text.value, maxDepth);
}

/** JSON has better error messages, but a brace alone does not make JSON: `{kind: Pod}` is YAML. */
export const decodeApplied = async (body: BodyPieces, readers: BodyReaders): Promise<DecodedBody> =>
  /^\s*\{\s*(?:["}]|$)/.test(body.start(64).toString()) ? decodeJsonBody(body, readers) : readers.readYaml(body);
