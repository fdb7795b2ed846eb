import { err, type JsonValue, ok, parseInstant, type Result } from "#lib/base/index.ts";
import { type AnyObject, type Collection, keyField } from "../objects.ts";
import { isIpv4, isUuid } from "./names.ts";
import { asJson } from "./read.ts";

type IndexKind = "string" | "boolean" | "uuid" | "ip" | "time" | "strings" | "keys";

/** A field that lists can be filtered and sorted by. */
export interface Index {
  readonly kind: IndexKind;
  readonly isUnique: boolean;
  /** Undefined if the object has no value. */
  readonly valueOf: (object: AnyObject) => JsonValue | undefined;
}

/** An index as `GET /indexes` describes it. */
export interface IndexDescription {
  readonly Type: string;
  readonly Unique: boolean;
  /** Cannot be sorted. */
  readonly Unordered: boolean;
  readonly Regex: boolean;
}

const typeNames: Readonly<Record<IndexKind, string>> = {
  string: "string",
  boolean: "boolean",
  uuid: "UUID string",
  ip: "IP Address",
  time: "Date/Time string",
  strings: "list",
  keys: "map",
};

const field = (kind: IndexKind, ...path: readonly [string, ...string[]]): Index => ({
  kind,
  isUnique: false,
  valueOf: (object) => {
    let value: JsonValue | undefined = asJson(object);
    for (const name of path) value = isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    return value;
  },
});

const isMap = (value: JsonValue | undefined): value is { readonly [name: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const unique = (index: Index): Index => ({ ...index, isUnique: true });

/** Fields of the same name, by kind. */
const fields = (kind: IndexKind, ...names: readonly string[]): Readonly<Record<string, Index>> =>
  Object.fromEntries(names.map((name) => [name, field(kind, name)]));

const ofAll: Readonly<Record<string, Index>> = {
  ...fields("boolean", "Available", "ReadOnly"),
  Valid: field("boolean", "Validated"),
  Bundle: field("string", "Bundle"),
};

const own: { readonly [C in Collection]?: Readonly<Record<string, Index>> } = {
  machines: {
    Name: unique(field("string", "Name")),
    Address: unique(field("ip", "Address")),
    ...fields("string", "Stage", "Workflow", "BootEnv", "Context", "Pool"),
    ...fields("boolean", "Runnable", "Locked", "WorkflowComplete"),
    Profiles: field("strings", "Profiles"),
    Params: field("keys", "Params"),
  },
  jobs: {
    ...fields("uuid", "Previous", "Machine"),
    ...fields("string", "Stage", "Workflow", "BootEnv", "Task", "State", "Context"),
    ...fields("boolean", "Archived", "Current"),
    ...fields("time", "StartTime", "EndTime"),
  },
  stages: {
    BootEnv: field("string", "BootEnv"),
    Reboot: field("boolean", "Reboot"),
    ...fields("strings", "Tasks", "Profiles"),
    Params: field("keys", "Params"),
  },
  workflows: fields("strings", "Stages"),
  bootenvs: { OsName: field("string", "OS", "Name"), OnlyUnknown: field("boolean", "OnlyUnknown") },
  params: fields("boolean", "Secure"),
  profiles: { Params: field("keys", "Params"), ...fields("strings", "Profiles") },
  contexts: fields("string", "Engine", "Image"),
};

const keyIndex = (collection: Collection): Index =>
  unique(field(keyField(collection) === "Uuid" ? "uuid" : "string", keyField(collection)));

export const indexesOf = (collection: Collection): Readonly<Record<string, Index>> => ({
  ...ofAll,
  ...own[collection],
  [keyField(collection)]: keyIndex(collection),
  Key: keyIndex(collection),
});

export const isUnordered = (index: Index): boolean => index.kind === "strings" || index.kind === "keys";

/** By name, as `GET /indexes/TYPE` replies. */
export const describeIndexes = (collection: Collection): Readonly<Record<string, IndexDescription>> =>
  Object.fromEntries(
    Object.entries(indexesOf(collection)).map(([name, index]) => [
      name,
      {
        Type: typeNames[index.kind],
        Unique: index.isUnique,
        Unordered: isUnordered(index),
        Regex: index.kind === "string" || index.kind === "uuid",
      },
    ]),
  );

export type Comparable = string | number | boolean;

const truths: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(["1", "t", "T", "true", "True", "TRUE"].map((text) => [text, true])),
  ...Object.fromEntries(["0", "f", "F", "false", "False", "FALSE"].map((text) => [text, false])),
};

/** Parses a query value so that it compares with values of objects. */
export function readComparable(kind: IndexKind, text: string): Result<Comparable, string> {
  switch (kind) {
    case "boolean": {
      const truth = Object.hasOwn(truths, text) ? truths[text] : undefined;
      return truth === undefined ? err(`expected true or false, found ${JSON.stringify(text)}`) : ok(truth);
    }
    case "uuid":
      return isUuid(text.toLowerCase()) || text === ""
        ? ok(text.toLowerCase())
        : err(`expected a UUID, found ${JSON.stringify(text)}`);
    case "ip":
      return isIpv4(text) || text === ""
        ? ok(ipNumber(text))
        : err(`expected an IPv4 address, found ${JSON.stringify(text)}`);
    case "time": {
      const at = parseInstant(text);
      return at === undefined ? err(`expected a time as RFC 3339 writes it, found ${JSON.stringify(text)}`) : ok(at);
    }
    case "string":
    case "strings":
    case "keys":
      return ok(text);
  }
}

const ipNumber = (text: string): number =>
  text === "" ? -1 : text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/** The values of an object under an index: one, or every item of a list or key of a map. */
export function comparablesOf(index: Index, object: AnyObject): readonly Comparable[] {
  const value = index.valueOf(object);
  if (index.kind === "strings") return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  if (index.kind === "keys") return isMap(value) ? Object.keys(value) : [];
  if (index.kind === "ip") return typeof value === "string" ? [ipNumber(value)] : [];
  if (index.kind === "time") return typeof value === "string" ? [parseInstant(value) ?? 0] : [];
  return typeof value === "string" || typeof value === "boolean" ? [value] : [];
}
