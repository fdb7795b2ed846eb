import { type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { CoreEvent, Event } from "#kernel/model/index.ts";
import { definitionNames, withMembers } from "#kernel/specs/index.ts";
import { eventTable } from "../tables/event.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { isPlainEvent, longestNote, longestWord } from "./plain-event.ts";

// One collection of Events, served in two forms: core/v1, in which they are stored, and events.k8s.io/v1, which calls
// some members by other names and demands more of new objects. What one form writes, the other shows.

/** Members that core Events and `events.k8s.io` Events call by different names. */
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

// Member by member and not by way of entries: every Event that is created passes here.
function rename(object: JsonObject, names: ReadonlyMap<string, string>, apiVersion: string): JsonObject {
  const renamed: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) renamed[names.get(name) ?? name] = object[name];
  renamed["apiVersion"] = apiVersion;
  return renamed;
}

/** An `events.k8s.io/v1` Event in the form in which all Events are stored. */
export const toCoreEvent = (event: JsonObject): JsonObject => rename(event, coreNames, "v1");
/** A stored Event as `events.k8s.io/v1` serves it. */
export const fromCoreEvent = (event: JsonObject): JsonObject => rename(event, newNames, "events.k8s.io/v1");

/**
 * An Event stands in the namespace of the object it is about. About cluster-scoped objects it stands in `default`, or
 * in `kube-system`, where newer clients put them. `about` is the member that refers to the object.
 */
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

/** What events.k8s.io/v1 demands of an Event: who reports, what was done, why, in words short enough to be listed. */
const newEventRule: Rule = (object, { errors }) => {
  const required = (name: string) => {
    if (textAt(object, name) === undefined) errors.push(fieldError.required(name));
  };
  // Events from before the new API have no eventTime and follow the old, looser rules.
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

/** A new Event says when it happened; those from before may still be changed without. */
const eventTimeRule: Rule = (object, { errors }, old) => {
  if (old === undefined && textAt(object, "eventTime") === undefined) errors.push(fieldError.required("eventTime"));
};

const referenceFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
/** `kubectl describe` finds the Events of an object by these labels. */
const aboutFields = (about: string) =>
  Object.fromEntries(referenceFields.map((name) => [`${about}.${name}`, textField(about, name)]));

/** Events as `kubectl get events` and most clients know them. */
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

/** The same Events as events.k8s.io/v1 serves them. Field labels are named after the members of this form. */
export const eventKind: BuiltIn = {
  type: Event,
  dependants: "none",
  definition: definitionNames.event,
  table: { columns: eventTable.columns, row: (event, now) => eventTable.row(toCoreEvent(event), now) },
  // A regarding object is optional in the schema and in fact always there.
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
