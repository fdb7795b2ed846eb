import { type Instant, type JsonObject, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown, wide } from "./columns.ts";

const name = (object: JsonObject): string => textAt(object, "metadata", "name") ?? "";

/** Kubernetes prints the time instead of an age. */
export const roleTable: TableView = {
  columns: [nameColumn, shown("Created At", "When the role was created.", { type: "date" })],
  row: (object) => [name(object), textAt(object, "metadata", "creationTimestamp") ?? ""],
};

/** `ClusterRole/view` */
export const bindingTable: TableView = {
  columns: [
    nameColumn,
    shown("Role", "What is granted."),
    ageColumn,
    wide("Users", "Users to whom it is granted."),
    wide("Groups", "Groups to which it is granted."),
    wide("ServiceAccounts", "Accounts to which it is granted, as namespace/name."),
  ],
  row: (object, now: Instant) => [
    name(object),
    roleOf(object),
    ageOf(valueAt(object, "metadata", "creationTimestamp"), now),
    subjects(object, "User"),
    subjects(object, "Group"),
    subjects(object, "ServiceAccount"),
  ],
};

function roleOf(object: JsonObject): string {
  const role = objectAt(object, "roleRef");
  return `${textAt(role, "kind") ?? ""}/${textAt(role, "name") ?? ""}`;
}

function subjects(object: JsonObject, kind: string): string {
  return objectsAt(object, "subjects")
    .filter((subject) => subject["kind"] === kind)
    .map((subject) => {
      const own = textAt(subject, "name") ?? "";
      return kind === "ServiceAccount" ? `${textAt(subject, "namespace") ?? ""}/${own}` : own;
    })
    .join(", ");
}
