import { isTrueAt, listAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";

/** The selector is empty, as in Kubernetes. */
export const cronJobTable: TableView = {
  columns: [
    nameColumn,
    shown("Schedule", "When jobs are made."),
    shown("Timezone", "Whose clock the schedule means."),
    shown("Suspend", "True: no jobs are made.", { type: "boolean" }),
    shown("Active", "Jobs that run.", { type: "integer" }),
    shown("Last Schedule", "Time since a job was last due."),
    ageColumn,
    wide("Containers", "Names of the containers."),
    wide("Images", "Images of the containers."),
    wide("Selector", "Not used."),
  ],
  row(cron, now) {
    const containers = objectsAt(cron, "spec", "jobTemplate", "spec", "template", "spec", "containers");
    const last = valueAt(cron, "status", "lastScheduleTime");
    return [
      textAt(cron, "metadata", "name") ?? "",
      textAt(cron, "spec", "schedule") ?? "",
      textAt(cron, "spec", "timeZone") ?? none,
      isTrueAt(cron, "spec", "suspend") ? "True" : "False",
      listAt(cron, "status", "active").length,
      last === undefined ? none : ageOf(last, now),
      ageOf(valueAt(cron, "metadata", "creationTimestamp"), now),
      containers.map((container) => textAt(container, "name") ?? "").join(","),
      containers.map((container) => textAt(container, "image") ?? "").join(","),
      none,
    ];
  },
};
