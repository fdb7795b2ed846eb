import { isJsonObject } from "#lib/base/index.ts";
import type { Schema } from "#lib/schema/index.ts";
import { collections, kindOf } from "../kinds.ts";
import { type Collection, zeroTime } from "../objects.ts";
import {
  anything,
  type Fields,
  flag,
  integer,
  label,
  listOf,
  mapOf,
  type Reader,
  structOf,
  text,
  textOr,
  uuid,
} from "./shape.ts";

// Valid lists and maps are returned as they are, so comparing them with the old ones is one identity check.
const textList = listOf(text);
const texts: Reader = (value, at, problems) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : textList(value, at, problems);
const labels = mapOf(label);
const valueMap = mapOf(anything);
const values: Reader = (value, at, problems) => (isJsonObject(value) ? value : valueMap(value, at, problems));

/** In no spec, since the server computes them. */
export const computed: ReadonlySet<string> = new Set(
  "Validated Available Errors ReadOnly Endpoint Bundle Partial WorkflowComplete".split(" "),
);

const ofAll: Fields = {
  Validated: flag,
  Available: flag,
  Errors: texts,
  ReadOnly: flag,
  Endpoint: text,
  Bundle: textOr("BackingStore"),
};

/** Beside what a spec says, or instead of it. */
const special: { readonly [C in Collection]?: Fields } = {
  machines: {
    Uuid: uuid,
    CurrentJob: uuid,
    Arch: textOr("amd64"),
    Pool: textOr("default"),
    PoolStatus: textOr("Free"),
    WorkflowComplete: flag,
    Fingerprint: structOf({ SSNHash: text, CSNHash: text, CloudInstanceID: text, SystemUUID: text, MemoryIds: texts }),
    Partial: flag,
  },
  jobs: {
    Uuid: uuid,
    Previous: uuid,
    Machine: uuid,
    State: textOr("created"),
    StartTime: textOr(zeroTime),
    EndTime: textOr(zeroTime),
  },
  stages: { Partial: flag },
  params: { Schema: (value) => value ?? {} },
  profiles: { Partial: flag },
  plugins: { Partial: flag },
};

/** Of a part of a spec. Labels are texts, but real content has other values. */
function readerOf({ type, items = {}, properties, additionalProperties }: Schema): Reader {
  if (type === "string") return text;
  if (type === "boolean") return flag;
  if (type === "integer") return integer;
  if (type === "array") return items.type === "string" ? texts : listOf(readerOf(items));
  if (type !== "object") return anything;
  if (properties !== undefined) return structOf(readersOf(properties));
  if (typeof additionalProperties !== "object") return values;
  return additionalProperties.type === "string" ? labels : mapOf(readerOf(additionalProperties));
}

const readersOf = (properties: Readonly<Record<string, Schema>>): Fields =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, readerOf(schema)]));

/** Names of wire fields are capitalized; others are records of the server. */
function fieldsIn(collection: Collection): Fields {
  const spec = kindOf[collection].schema.properties?.["spec"]?.properties ?? {};
  const onWire = Object.fromEntries(Object.entries(spec).filter(([name]) => /^[A-Z]/.test(name)));
  return { ...ofAll, ...readersOf(onWire), ...special[collection] };
}

/** The wire fields of every collection, with the default of each. */
export const fieldsOf: Readonly<Record<string, Fields>> = Object.fromEntries(
  collections.map((collection) => [collection, fieldsIn(collection)]),
);
