import { formatAge, type Instant, type JsonValue, parseInstant } from "#lib/base/index.ts";
import type { Column } from "../kinds/served-resource.ts";

// Shared columns and cells, named as in Kubernetes: scripts rely on the names.

const column = (name: string, description: string, more: Partial<Column> = {}): Column => ({
  name,
  type: "string",
  priority: 0,
  description,
  ...more,
});

export const shown = column;
/** Shown with `-o wide` only. */
export const wide = (name: string, description: string, more: Partial<Column> = {}): Column =>
  column(name, description, { priority: 1, ...more });

export const nameColumn = column("Name", "Name of the object, unique within its namespace.", { format: "name" });
export const ageColumn = column("Age", "Time since the object was created.");

export const unknownAge = "<unknown>";
export const invalidAge = "<invalid>";

/** Clock skew, as in Kubernetes. */
const skewMs = 2_000;

/** Time since an RFC 3339 text: `45s`, `3m`, `2d`. `<unknown>` for an invalid time, `<invalid>` for a future one. */
export function ageOf(time: JsonValue | undefined, now: Instant): string {
  const at = typeof time === "string" ? parseInstant(time) : undefined;
  if (at === undefined) return unknownAge;
  return now - at <= -skewMs ? invalidAge : formatAge(now - at);
}

export const none = "<none>";
