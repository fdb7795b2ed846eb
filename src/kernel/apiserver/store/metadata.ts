import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { storeCorrupt } from "./errors.ts";
import { metadataStart } from "./object-bytes.ts";

// Read from the parsed object on write and from its bytes on load; `store check` compares both.

export interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly created: string;
  readonly terminating: boolean;
  readonly hasFinalizers: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** uids; owner references without one are left out. */
  readonly owners: readonly string[];
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});
const noOwners: readonly string[] = Object.freeze([]);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

// Labels of a stored object have been validated.
const labelsOf = (value: unknown): Readonly<Record<string, string>> =>
  isJsonObject(value) ? (value as Readonly<Record<string, string>>) : noLabels;

function ownersOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return noOwners;
  const owners: string[] = [];
  for (const owner of value) if (isJsonObject(owner) && typeof owner["uid"] === "string") owners.push(owner["uid"]);
  return owners;
}

export function metadataOf(object: JsonObject): Metadata {
  const { metadata } = object;
  if (!isJsonObject(metadata)) throw new Error("a stored object needs metadata");
  const finalizers = metadata["finalizers"];
  return {
    name: text(metadata["name"]),
    namespace: text(metadata["namespace"]),
    uid: text(metadata["uid"]),
    created: text(metadata["creationTimestamp"]),
    terminating: typeof metadata["deletionTimestamp"] === "string",
    hasFinalizers: Array.isArray(finalizers) && finalizers.length > 0,
    labels: labelsOf(metadata["labels"]),
    owners: ownersOf(metadata["ownerReferences"]),
  };
}

/** The earlier metadata if equal, so that the revisions of an object share it. */
export function shared(next: Metadata, previous: Metadata | undefined): Metadata {
  const isSame =
    previous !== undefined &&
    previous.uid === next.uid &&
    previous.created === next.created &&
    previous.name === next.name &&
    previous.namespace === next.namespace &&
    previous.terminating === next.terminating &&
    previous.hasFinalizers === next.hasFinalizers &&
    sameLabels(previous.labels, next.labels) &&
    previous.owners.length === next.owners.length &&
    previous.owners.every((owner, index) => owner === next.owners[index]);
  return isSame ? previous : next;
}

function sameLabels(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}

type Wanted = keyof typeof readers;

const readers = {
  name: readText,
  namespace: readText,
  uid: readText,
  creationTimestamp: readText,
  deletionTimestamp: readText,
  finalizers: readJson,
  labels: readJson,
  ownerReferences: readJson,
} as const;

const isWanted = (name: string): name is Wanted => Object.hasOwn(readers, name);

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Reads the metadata of stored JSON, which is compact and well formed, without parsing the object. */
export function scanMetadata(json: Buffer): Metadata {
  const found: Partial<Record<Wanted, JsonValue>> = {};
  let at = metadataStart(json);
  while (json[at] !== closeBrace) {
    const nameEnd = endOfString(json, at);
    if (json[nameEnd] !== colon) throw storeCorrupt("an object's metadata is not compact JSON");
    const name = json.toString("latin1", at + 1, nameEnd - 1);
    const end = endOfValue(json, nameEnd + 1);
    if (isWanted(name)) found[name] = readers[name](json, nameEnd + 1, end);
    at = json[end] === comma ? end + 1 : end;
  }
  return metadataOf({ metadata: found });
}

function readJson(json: Buffer, start: number, end: number): JsonValue {
  return JSON.parse(json.toString("utf8", start, end)) as JsonValue;
}

const special = /[\\\x80-\xff]/;

function readText(json: Buffer, start: number, end: number): JsonValue {
  const text = json[start] === quote ? json.toString("latin1", start + 1, end - 1) : "\\";
  return special.test(text) ? readJson(json, start, end) : text;
}

function endOfString(json: Buffer, at: number): number {
  for (let index = at + 1; index < json.length; index++) {
    const byte = json[index];
    if (byte === quote) return index + 1;
    if (byte === backslash) index++;
  }
  throw storeCorrupt("an object's JSON ends inside a string");
}

function endOfValue(json: Buffer, at: number): number {
  let depth = 0;
  for (let index = at; index < json.length; index++) {
    const byte = json[index];
    if (byte === quote) index = endOfString(json, index) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (depth === 0 && (byte === comma || byte === closeBrace)) return index;
    else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  throw storeCorrupt("an object's JSON ends inside its metadata");
}
