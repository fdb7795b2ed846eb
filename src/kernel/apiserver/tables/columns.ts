import { formatAge, type Instant, type JsonValue, parseInstant } from "#lib/base/index.ts";
import type { Column } from "../kinds/served-resource.ts";

// Columns and cells that many kinds share. Names are shown in capitals by kubectl, and scripts cut tables by them: they are those of
// Kubernetes' own printers.

const column = (name: string, description: string, more: Partial<Column> = {}): Column => ({
  name,
  type: "string",
  priority: 0,
  description,
  ...more,
});

/** A column that `kubectl get` shows. */
export const shown = column;
/** A column that shows only with `-o wide`. */
export const wide = (name: string, description: string, more: Partial<Column> = {}): Column =>
  column(name, description, { priority: 1, ...more });

export const nameColumn = column("Name", "Name of the object, unique within its namespace.", { format: "name" });
export const ageColumn = column("Age", "Time since the object was created.");

/** What stands where a time should be. */
export const unknownAge = "<unknown>";
/** And where one stands that has no age. */
export const invalidAge = "<invalid>";

/** Clocks of two machines differ by less; Kubernetes allows the same. */
const skewMs = 2_000;

/** Time since an RFC 3339 text, for people: `45s`, `3m`, `2d`. `<unknown>` for what is no time, `<invalid>` for one to come. */
export function ageOf(time: JsonValue | undefined, now: Instant): string {
  const at = typeof time === "string" ? parseInstant(time) : undefined;
  if (at === undefined) return unknownAge;
  return now - at <= -skewMs ? invalidAge : formatAge(now - at);
}

/** What stands where a list or map is empty. */
export const none = "<none>";
