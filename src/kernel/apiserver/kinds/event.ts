import { type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { CoreEvent, Event } from "#kernel/model/index.ts";
import { definitionNames, withMembers } from "#kernel/specs/index.ts";
import { eventTable } from "../tables/event.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { isPlainEvent, longestNote, longestWord } from "./plain-event.ts";

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
