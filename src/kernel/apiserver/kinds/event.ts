import { type JsonObject, type JsonValue, textAt, isJsonObject, parseInstant } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { CoreEvent, Event, subdomainRule } from "#kernel/model/index.ts";
import { definitionNames, withMembers } from "#kernel/specs/index.ts";
import { eventTable } from "../tables/event.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";

// Most new objects are Events of one shape; this check costs a sixth of four schema walks.

/** Bytes of an Event's note in UTF-8. */
const longestNote = 1024;
/** Characters of an Event's reason, action and reporting instance. */
const longestWord = 128;

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

// Core and events.k8s.io Events are one collection, stored in the core form.

/** Core names with their events.k8s.io names. */
const newNames: ReadonlyMap<string, string> = new Map([
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
]);
const coreNames: ReadonlyMap<string, string> = new Map(Array.from(newNames, ([core, other]) => [other, core]));

// Avoids entries for speed: every created Event passes here.
function rename(object: JsonObject, names: ReadonlyMap<string, string>, apiVersion: string): JsonObject {
  const renamed: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) renamed[names.get(name) ?? name] = object[name];
  renamed["apiVersion"] = apiVersion;
  return renamed;
}

/** The stored form. */
export const toCoreEvent = (event: JsonObject): JsonObject => rename(event, coreNames, "v1");
export const fromCoreEvent = (event: JsonObject): JsonObject => rename(event, newNames, "events.k8s.io/v1");

/** Events about cluster-scoped objects are in `default` or `kube-system`. `about` names the reference's member. */
const namespaceRule =
  (about: string): Rule =>
  (object, { errors }) => {
    const namespace = textAt(object, "metadata", "namespace") ?? "";
    const aboutNamespace = textAt(object, about, "namespace") ?? "";
    const fits =
      aboutNamespace === "" ? namespace === "default" || namespace === "kube-system" : namespace === aboutNamespace;
    if (!fits)
      errors.push(
        fieldError.invalid(`${about}.namespace`, aboutNamespace, "does not match the namespace of the event"),
      );
  };

/** Kubernetes' required fields and text limits. */
const newEventRule: Rule = (object, { errors }) => {
  const required = (name: string) => {
    if (textAt(object, name) === undefined) errors.push(fieldError.required(name));
  };
  // Older Events have no eventTime and looser rules.
  if (textAt(object, "eventTime") === undefined) return;
  for (const name of ["reportingController", "reportingInstance", "action", "reason"]) required(name);
  const type = textAt(object, "type") ?? "";
  if (type !== "Normal" && type !== "Warning")
    errors.push(fieldError.notSupported("type", type, ["Normal", "Warning"]));
  for (const name of ["reason", "action", "reportingInstance"]) {
    if ((textAt(object, name) ?? "").length > longestWord) errors.push(fieldError.tooLong(name, longestWord));
  }
  if (Buffer.byteLength(textAt(object, "note") ?? "") > longestNote)
    errors.push(fieldError.tooLong("note", longestNote, "bytes"));
};

/** New Events need a time; older ones may be changed without. */
const eventTimeRule: Rule = (object, { errors }, old) => {
  if (old === undefined && textAt(object, "eventTime") === undefined) errors.push(fieldError.required("eventTime"));
};

const referenceFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
/** Fields by which `kubectl describe` finds an object's Events. */
const aboutFields = (about: string) =>
  Object.fromEntries(referenceFields.map((name) => [`${about}.${name}`, textField(about, name)]));

export const coreEventKind: BuiltIn = {
  type: CoreEvent,
  dependants: "none",
  definition: definitionNames.coreEvent,
  table: eventTable,
  rules: [namespaceRule("involvedObject")],
  fields: {
    ...aboutFields("involvedObject"),
    reason: textField("reason"),
    reportingComponent: textField("reportingComponent"),
    source: (event) => textAt(event, "source", "component") ?? textAt(event, "reportingComponent") ?? "",
    type: textField("type"),
  },
};

export const eventKind: BuiltIn = {
  type: Event,
  dependants: "none",
  definition: definitionNames.event,
  table: { columns: eventTable.columns, row: (event, now) => eventTable.row(toCoreEvent(event), now) },
  // The schema does not require regarding, but it is always stored.
  prepareForCreate: (object) => (object["regarding"] === undefined ? withMembers(object, { regarding: {} }) : object),
  isPlain: isPlainEvent,
  rules: [namespaceRule("regarding"), newEventRule, eventTimeRule],
  fields: {
    ...aboutFields("regarding"),
    reason: textField("reason"),
    reportingController: textField("reportingController"),
    type: textField("type"),
  },
  storage: { group: "", version: "v1", resource: "events", encode: toCoreEvent, decode: fromCoreEvent },
};
