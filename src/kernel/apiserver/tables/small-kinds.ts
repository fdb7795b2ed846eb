import type { TableView } from "../kinds/built-in.ts";
import { objectAt, textAt, valueAt } from "../kinds/read.ts";
import { ageColumn, ageOf, nameColumn, shown } from "./columns.ts";
import type { Instant, JsonObject } from "#lib/base/index.ts";

const name = (object: JsonObject): string => textAt(object, "metadata", "name") ?? "";
const age = (object: JsonObject, now: Instant): string => ageOf(valueAt(object, "metadata", "creationTimestamp"), now);
const size = (object: JsonObject, member: string): number => Object.keys(objectAt(object, member) ?? {}).length;

export const namespaceTable: TableView = {
  columns: [nameColumn, shown("Status", "Active, or Terminating while its contents are removed."), ageColumn],
  row: (object, now) => [name(object), textAt(object, "status", "phase") ?? "", age(object, now)],
};

export const configMapTable: TableView = {
  columns: [nameColumn, shown("Data", "Number of keys.", { type: "integer" }), ageColumn],
  row: (object, now) => [name(object), size(object, "data") + size(object, "binaryData"), age(object, now)],
};

export const secretTable: TableView = {
  columns: [
    nameColumn,
    shown("Type", "What the secret is for."),
    shown("Data", "Number of keys.", { type: "integer" }),
    ageColumn,
  ],
  row: (object, now) => [name(object), textAt(object, "type") ?? "", size(object, "data"), age(object, now)],
};

export const serviceAccountTable: TableView = {
  columns: [nameColumn, ageColumn],
  row: (object, now) => [name(object), age(object, now)],
};

export const leaseTable: TableView = {
  columns: [nameColumn, shown("Holder", "Who holds the lease."), ageColumn],
  row: (object, now) => [name(object), textAt(object, "spec", "holderIdentity") ?? "", age(object, now)],
};

export const customResourceDefinitionTable: TableView = {
  columns: [nameColumn, shown("Created At", "When the definition was created.", { type: "date" })],
  row: (object) => [name(object), textAt(object, "metadata", "creationTimestamp") ?? ""],
};
