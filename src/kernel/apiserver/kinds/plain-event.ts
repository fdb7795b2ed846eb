import { isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";

// Most new objects are Events of one shape; this check costs a sixth of four schema walks.

/** Bytes of an Event's note in UTF-8. */
export const longestNote = 1024;
/** Characters of an Event's reason, action and reporting instance. */
export const longestWord = 128;

type Check = (value: JsonValue | undefined) => boolean;
type Shape = ReadonlyMap<string, Check>;

/** All members are known and valid; the caller checks required ones. */
function fits(value: JsonValue | undefined, shape: Shape): value is JsonObject {
  if (!isJsonObject(value)) return false;
  for (const name of Object.keys(value)) if (shape.get(name)?.(value[name]) !== true) return false;
  return true;
}

const isText: Check = (value) => typeof value === "string";
const isWord: Check = (value) => typeof value === "string" && value !== "" && value.length <= longestWord;
/** At most three bytes per unit of length, so most notes need not be counted. */
const isNote: Check = (value) =>
  typeof value === "string" && (value.length * 3 <= longestNote || Buffer.byteLength(value) <= longestNote);
const isName: Check = (value) => typeof value === "string" && subdomainRule(value) === undefined;

// Events recorded together have the same time.
let lastTime: JsonValue | undefined;
const isCanonicalMicroTime = /^.{10}T.{8}\.\d{6}Z$/;
const isTime: Check = (value) => {
  if (value === lastTime) return value !== undefined;
  if (typeof value !== "string" || !isCanonicalMicroTime.test(value) || parseInstant(value) === undefined) return false;
  lastTime = value;
  return true;
};

const metadata: Shape = new Map([
  ["name", isName],
  ["namespace", isText],
]);
const reference: Shape = new Map(
  ["apiVersion", "kind", "namespace", "name", "uid", "resourceVersion", "fieldPath"].map((name) => [name, isText]),
);
const series: Shape = new Map([
  ["count", (value) => typeof value === "number" && (value | 0) === value],
  ["lastObservedTime", isTime],
]);
const event: Shape = new Map<string, Check>([
  ["apiVersion", isText],
  ["kind", isText],
  ["metadata", (value) => fits(value, metadata)],
  ["eventTime", isTime],
  ["reportingController", isWord],
  ["reportingInstance", isWord],
  ["regarding", (value) => fits(value, reference)],
  ["related", (value) => fits(value, reference)],
  ["type", (value) => value === "Normal" || value === "Warning"],
  ["reason", isWord],
  ["action", isWord],
  ["note", isNote],
  ["series", (value) => fits(value, series) && value["count"] !== undefined && value["lastObservedTime"] !== undefined],
]);
const required = ["eventTime", "reportingController", "reportingInstance", "type", "reason", "action"] as const;

/** True if the schema would not change this valid Event. Namespace, apiVersion and kind are set. */
export function isPlainEvent(object: JsonObject): boolean {
  if (!fits(object, event)) return false;
  for (const name of required) if (object[name] === undefined) return false;
  const { metadata, regarding } = object;
  if (!isJsonObject(metadata) || !isJsonObject(regarding) || metadata["name"] === undefined) return false;
  // `namespaceRule` handles cluster-scoped objects.
  const { namespace } = regarding;
  return namespace !== undefined && namespace !== "" && namespace === metadata["namespace"];
}
