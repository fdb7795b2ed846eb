import { isUtf8 } from "node:buffer";
import { badRequest, tooLarge } from "#kernel/model/index.ts";
import { formatProblem, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { type JsonExcess, JsonShape } from "#lib/json/index.ts";
import { readPlain, readYaml } from "#lib/yaml/index.ts";
import type { Limits } from "../verbs/limits.ts";
import type { DecodedBody } from "./body.ts";

export type YamlLimits = Pick<Limits, "maxBodyBytes" | "maxBodyValues" | "maxObjectMembers" | "maxDepth">;

/** One document or undefined. The last duplicate key counts; duplicates are listed. 413 beyond `maxParts`. */
export function decodeYaml(bytes: Uint8Array, maxParts?: number): DecodedBody {
  const text = textOf(bytes);
  const read = readYaml(text, {
    file: "body",
    duplicateKeys: "warning",
    ...(maxParts === undefined ? {} : { maxParts }),
  });
  if (!read.ok) {
    if (read.error[0]?.code === "yaml-size")
      throw tooLarge(`the body of the request holds more than ${maxParts} texts, lines and comments of YAML`);
    throw badRequest(`the body of the request cannot be read as YAML: ${read.error.map(formatProblem).join("; ")}`);
  }
  if (read.value.documents.length > 1) throw badRequest("the body of the request holds more than one YAML document");
  const duplicates = read.value.warnings.filter(({ code }) => code === "yaml-duplicate-key");
  return { value: read.value.documents[0]?.value, duplicates: duplicates.map(({ path }) => path) };
}

/** Reads plain mappings, lists and scalars in a quarter of the time; undefined for everything else, valid or not. */
export function decodePlainYaml(bytes: Uint8Array, { maxDepth }: Pick<Limits, "maxDepth">): DecodedBody | undefined {
  const documents = readPlain(textOf(bytes), { maxDepth, maxParts: Number.POSITIVE_INFINITY });
  return documents === undefined || documents.length > 1 ? undefined : { value: documents[0], duplicates: [] };
}

function textOf(bytes: Uint8Array): string {
  // Decoding would silently replace invalid bytes.
  if (!isUtf8(bytes)) throw badRequest("the body of the request cannot be read as YAML: it is no UTF-8");
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

export interface YamlAsJson {
  readonly json: Uint8Array;
  readonly duplicates: readonly string[];
}

/** Within the limits of JSON bodies; undefined if empty. Too many lines or comments are refused first. */
export function yamlToJson(bytes: Uint8Array, limits: YamlLimits): YamlAsJson | undefined {
  // A value has a line or a comma, and most have a key.
  const { value, duplicates } = decodeYaml(bytes, 2 * limits.maxBodyValues);
  if (value === undefined) return undefined;
  // Expanded aliases could turn megabytes into gigabytes.
  if (weigh(value, 2 * limits.maxBodyBytes) < 0)
    throw tooLarge("the body of the request is too large when its aliases are written out");
  const json = Buffer.from(JSON.stringify(value));
  const { maxDepth, maxBodyValues: maxValues, maxObjectMembers: maxMembers } = limits;
  const excess = new JsonShape({ maxDepth, maxValues, maxMembers }).take(json);
  if (excess === "maxDepth")
    throw badRequest(
      `the body of the request cannot be read as YAML: nested deeper than ${maxDepth} levels, with its aliases`,
    );
  if (excess !== undefined) refuseExcess(excess, limits);
  return { json, duplicates };
}

/** What is left of a number of characters after all texts of a value; negative when exhausted. */
function weigh(value: JsonValue, left: number): number {
  if (typeof value === "string") return left - value.length;
  if (Array.isArray(value)) {
    for (const item of value) if ((left = weigh(item, left - 1)) < 0) return left;
  } else if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value))
      if ((left = weigh(member ?? null, left - key.length)) < 0) return left;
  }
  return left;
}

/** Throws 413 for a body with too many values; its reader reports excessive depth with a position. */
export function refuseExcess(
  excess: JsonExcess,
  { maxBodyValues, maxObjectMembers }: Pick<Limits, "maxBodyValues" | "maxObjectMembers">,
): void {
  if (excess === "maxValues") throw tooLarge(`the body of the request holds more than ${maxBodyValues} values`);
  if (excess === "maxMembers") {
    throw tooLarge(`the body of the request holds an object with more than ${maxObjectMembers} members`);
  }
}
