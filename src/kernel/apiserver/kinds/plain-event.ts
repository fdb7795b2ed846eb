import { isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import { longestNote, longestWord } from "./event-limits.ts";

// Controllers tell of every step of every run, so most objects a server creates are Events of one and the same shape. Seeing
// that an Event has this shape takes a sixth of walking it with the schema four times: to prune it, to fill in defaults, to check
// types and rules. Whatever is not plain, be it wrong or only unusual, is left to the schema.

type Check = (value: JsonValue | undefined) => boolean;
type Shape = ReadonlyMap<string, Check>;

/** The members of an object are all known and right. Whether those that must be there are, is for the caller to see. */
function fits(value: JsonValue | undefined, shape: Shape): value is JsonObject {
  if (!isJsonObject(value)) return false;
  for (const name of Object.keys(value)) if (shape.get(name)?.(value[name]) !== true) return false;
  return true;
}

const isText: Check = (value) => typeof value === "string";
const isWord: Check = (value) => typeof value === "string" && value !== "" && value.length <= longestWord;
/** No character takes more than three bytes per unit of length, so most notes need not be counted. */
const isNote: Check = (value) =>
  typeof value === "string" && (value.length * 3 <= longestNote || Buffer.byteLength(value) <= longestNote);
const isName: Check = (value) => typeof value === "string" && subdomainRule(value) === undefined;

// Events that are recorded together bear the same time.
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

/**
 * True for a new `events.k8s.io` Event that the schema would leave as it is and about which everything is seen to be right
 * without it. `object` has its namespace already, and the apiVersion and kind of its resource.
 */
export function isPlainEvent(object: JsonObject): boolean {
  if (!fits(object, event)) return false;
  for (const name of required) if (object[name] === undefined) return false;
  const { metadata, regarding } = object;
  if (!isJsonObject(metadata) || !isJsonObject(regarding) || metadata["name"] === undefined) return false;
  // Where events of cluster-scoped objects may stand is a rule of its own; see `namespaceRule`.
  const { namespace } = regarding;
  return namespace !== undefined && namespace !== "" && namespace === metadata["namespace"];
}
