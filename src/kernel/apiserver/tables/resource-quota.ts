import { type JsonObject, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown } from "./columns.ts";

/** `count/jobs.batch: 2/5, pods: 3/10`; limits have a column of their own. */
export const resourceQuotaTable: TableView = {
  columns: [
    nameColumn,
    shown("Request", "What is used, of what there may be."),
    shown("Limit", "The same of the limits of containers."),
    ageColumn,
  ],
  row: (quota, now) => [
    textAt(quota, "metadata", "name") ?? "",
    usage(quota, (name) => !name.startsWith("limits.")),
    usage(quota, (name) => name.startsWith("limits.")),
    ageOf(valueAt(quota, "metadata", "creationTimestamp"), now),
  ],
};

function usage(quota: JsonObject, shows: (name: string) => boolean): string {
  const used = objectAt(quota, "status", "used") ?? {};
  return Object.entries(objectAt(quota, "status", "hard") ?? {})
    .filter(([name]) => shows(name))
    .map(([name, limit]) => `${name}: ${scalarText(used[name] ?? 0)}/${scalarText(limit)}`)
    .sort()
    .join(", ");
}
