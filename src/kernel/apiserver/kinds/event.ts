import type { JsonObject } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { CoreEvent, Event } from "#kernel/model/index.ts";
import { eventTable } from "../tables/event.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { definitionNames } from "./definitions.ts";
import { textAt, withMembers } from "./read.ts";

/** Members that core Events and `events.k8s.io` Events call by different names. */
const newNames: Readonly<Record<string, string>> = {
  involvedObject: "regarding",
  message: "note",
  reportingComponent: "reportingController",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
};
const coreNames = Object.fromEntries(Object.entries(newNames).map(([core, other]) => [other, core]));

const rename = (object: JsonObject, names: Readonly<Record<string, string>>, apiVersion: string): JsonObject => ({
  ...Object.fromEntries(
    Object.entries(object).map(([name, value]) => [Object.hasOwn(names, name) ? (names[name] ?? name) : name, value]),
  ),
  apiVersion,
});

/** An `events.k8s.io/v1` Event in the form in which all Events are stored. */
export const toCoreEvent = (event: JsonObject): JsonObject => rename(event, coreNames, "v1");
/** A stored Event as `events.k8s.io/v1` serves it. */
export const fromCoreEvent = (event: JsonObject): JsonObject => rename(event, newNames, "events.k8s.io/v1");

/** An event stands in the namespace of the object it is about; about cluster-scoped objects, in `default`. */
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

const longestNote = 1024;

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
    if ((textAt(object, name) ?? "").length > 128) errors.push(fieldError.tooLong(name, 128));
  }
  if (Buffer.byteLength(textAt(object, "note") ?? "") > longestNote)
    errors.push(fieldError.tooLong("note", longestNote, "bytes"));
};

const eventTimeRule: Rule = (object, { errors }, old) => {
  if (old === undefined && textAt(object, "eventTime") === undefined) errors.push(fieldError.required("eventTime"));
};

const referenceFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
const aboutFields = (about: string) =>
  Object.fromEntries(referenceFields.map((name) => [`${about}.${name}`, textField(about, name)]));

export const coreEventKind: BuiltIn = {
  type: CoreEvent,
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
  definition: definitionNames.event,
  table: { columns: eventTable.columns, row: (event, now) => eventTable.row(toCoreEvent(event), now) },
  // A regarding object is optional in the schema and in fact always there.
  prepareForCreate: (object) => (object["regarding"] === undefined ? withMembers(object, { regarding: {} }) : object),
  rules: [namespaceRule("regarding"), newEventRule, eventTimeRule],
  fields: {
    ...aboutFields("regarding"),
    reason: textField("reason"),
    reportingController: textField("reportingController"),
    type: textField("type"),
  },
  storage: { group: "", resource: "events", encode: toCoreEvent, decode: fromCoreEvent },
};
