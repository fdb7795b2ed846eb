import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown } from "./columns.ts";
import { type Instant, type JsonObject, listAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";

// Tables of kinds that show a few members. None shows a value of a Secret.

const name = (object: JsonObject): string => textAt(object, "metadata", "name") ?? "";
const age = (object: JsonObject, now: Instant): string => ageOf(valueAt(object, "metadata", "creationTimestamp"), now);
const size = (object: JsonObject, member: string): number => Object.keys(objectAt(object, member) ?? {}).length;

export const namespaceTable: TableView = {
  columns: [nameColumn, shown("Status", "Active, or Terminating while its contents are removed."), ageColumn],
  row: (object, now) => [name(object), textAt(object, "status", "phase") ?? "", age(object, now)],
};

/** Keys of both members. As in Kubernetes a number in a text column. */
export const configMapTable: TableView = {
  columns: [nameColumn, shown("Data", "Number of keys."), ageColumn],
  row: (object, now) => [name(object), size(object, "data") + size(object, "binaryData"), age(object, now)],
};

export const secretTable: TableView = {
  columns: [nameColumn, shown("Type", "What the secret is for."), shown("Data", "Number of keys."), ageColumn],
  row: (object, now) => [name(object), textAt(object, "type") ?? "", size(object, "data"), age(object, now)],
};

export const serviceAccountTable: TableView = {
  columns: [nameColumn, shown("Secrets", "Number of Secrets that are listed."), ageColumn],
  row: (object, now) => [name(object), listAt(object, "secrets").length, age(object, now)],
};

export const leaseTable: TableView = {
  columns: [nameColumn, shown("Holder", "Who holds the lease."), ageColumn],
  row: (object, now) => [name(object), textAt(object, "spec", "holderIdentity") ?? "", age(object, now)],
};

/** Kubernetes prints the time instead of an age. */
export const customResourceDefinitionTable: TableView = {
  columns: [nameColumn, shown("Created At", "When the definition was created.", { type: "date" })],
  row: (object) => [name(object), textAt(object, "metadata", "creationTimestamp") ?? ""],
};
