import { type JsonObject, numberAt, objectAt, textAt } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageOf, shown, wide } from "./columns.ts";

/** Events of core/v1. The series of newer reporters wins over `count` and the timestamps of older ones. */
export const eventTable: TableView = {
  columns: [
    shown("Last Seen", "Time since it was last observed."),
    shown("Type", "Normal or Warning."),
    shown("Reason", "Short machine-readable reason."),
    shown("Object", "The object the event is about."),
    wide("Subobject", "The part of the object the event is about."),
    wide("Source", "Who reported it."),
    shown("Message", "What happened."),
    wide("First Seen", "Time since it was first observed."),
    wide("Count", "How often it was observed."),
    wide("Name", "Name of the event.", { format: "name" }),
  ],
  row(event, now) {
    const first = textAt(event, "firstTimestamp") ?? textAt(event, "eventTime");
    const last = textAt(event, "series", "lastObservedTime") ?? textAt(event, "lastTimestamp") ?? first;
    return [
      ageOf(last, now),
      textAt(event, "type") ?? "",
      textAt(event, "reason") ?? "",
      aboutText(objectAt(event, "involvedObject") ?? {}),
      textAt(event, "involvedObject", "fieldPath") ?? "",
      sourceText(event),
      (textAt(event, "message") ?? "").trim(),
      ageOf(first, now),
      numberAt(event, "series", "count") ?? countOf(event),
      textAt(event, "metadata", "name") ?? "",
    ];
  },
};

function aboutText(object: JsonObject): string {
  const kind = (textAt(object, "kind") ?? "").toLowerCase();
  const name = textAt(object, "name");
  return name === undefined ? kind : `${kind}/${name}`;
}

/** `runner, host-1` */
function sourceText(event: JsonObject): string {
  const component = textAt(event, "source", "component") ?? textAt(event, "reportingComponent") ?? "";
  const host = textAt(event, "source", "host") ?? textAt(event, "reportingInstance");
  return host === undefined ? component : `${component}, ${host}`;
}

/** New Events have count 0 until they repeat. */
const countOf = (event: JsonObject): number => Math.max(1, numberAt(event, "count") ?? 1);
