import {
  formatAge,
  type Instant,
  type JsonObject,
  parseInstant,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";

/** A failed Job has no completion time and keeps counting, as in Kubernetes. */
export const jobTable: TableView = {
  columns: [
    nameColumn,
    shown("Status", "Where the job stands."),
    shown("Completions", "Pods that succeeded, of those wanted."),
    shown("Duration", "Time from start to completion, or until now."),
    ageColumn,
    wide("Containers", "Names of the containers."),
    wide("Images", "Images of the containers."),
    wide("Selector", "Labels of the job's pods."),
  ],
  row(job, now) {
    // Without init containers, as in Kubernetes.
    const containers = objectsAt(job, "spec", "template", "spec", "containers");
    return [
      textAt(job, "metadata", "name") ?? "",
      jobStatus(job),
      completions(job),
      duration(job, now),
      ageOf(valueAt(job, "metadata", "creationTimestamp"), now),
      containers.map((container) => textAt(container, "name") ?? "").join(","),
      containers.map((container) => textAt(container, "image") ?? "").join(","),
      formatSelector(objectAt(job, "spec", "selector")),
    ];
  },
};

/** An end wins over a deletion. */
function jobStatus(job: JsonObject): string {
  const conditions = objectsAt(job, "status", "conditions");
  const holds = (type: string) => conditions.some((one) => one["type"] === type && one["status"] === "True");
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (textAt(job, "metadata", "deletionTimestamp") !== undefined) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

/** `2/5`; `0/1 of 3` for a work queue. */
function completions(job: JsonObject): string {
  const succeeded = numberAt(job, "status", "succeeded") ?? 0;
  const wanted = numberAt(job, "spec", "completions");
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  const parallelism = numberAt(job, "spec", "parallelism") ?? 0;
  // One success ends a work queue.
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration(job: JsonObject, now: Instant): string {
  const instant = (name: string) => parseInstant(textAt(job, "status", name) ?? "");
  const start = instant("startTime");
  return start === undefined ? "" : formatAge((instant("completionTime") ?? now) - start);
}

/** In the syntax of `-l`, sorted by key; `<none>` when empty. */
export function formatSelector(selector: JsonObject | undefined): string {
  const labels = Object.entries(objectAt(selector, "matchLabels") ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${scalarText(value)}`,
  }));
  const expressions = objectsAt(selector, "matchExpressions").map((one) => ({
    key: textAt(one, "key") ?? "",
    text: formatRequirement(one),
  }));
  const all = [...labels, ...expressions].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return all.length === 0 ? none : all.map(({ text }) => text).join(",");
}

function formatRequirement(requirement: JsonObject): string {
  const key = textAt(requirement, "key") ?? "";
  const operator = textAt(requirement, "operator");
  const values = `(${listAt(requirement, "values").map(scalarText).sort().join(",")})`;
  if (operator === "In") return `${key} in ${values}`;
  if (operator === "NotIn") return `${key} notin ${values}`;
  return operator === "DoesNotExist" ? `!${key}` : key;
}
