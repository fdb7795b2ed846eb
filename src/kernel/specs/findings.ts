import { type FieldPath, type JsonObject, valueAt } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "#lib/schema/index.ts";

/** Collects errors under a path. */
export type Report = (error: FieldError) => void;

/** What rules have found so far; rules add to the lists, in the order of the fields they read. */
export interface Findings {
  /** What every Kubernetes refuses. */
  readonly errors: FieldError[];
  /**
   * What Kubernetes takes and this server cannot do. It is refused too, because a Pod that asks for the feature would not
   * be what its writer means by it; a document may still be right for another cluster.
   */
  readonly unsupported: FieldError[];
  /** What is kept and has no effect here, as `field: why`. */
  readonly warnings: string[];
}

/** Findings of an object about which nothing has been said yet. */
export const noFindings = (errors: readonly FieldError[] = []): Findings => ({
  errors: [...errors],
  unsupported: [],
  warnings: [],
});

/** A text that must be one of a few words; whether it may be absent is somebody else's business. */
export function checkOneOf(
  object: JsonObject,
  name: string,
  allowed: readonly string[],
  at: FieldPath,
  report: Report,
): void {
  const value = object[name];
  if (value !== undefined && !allowed.some((word) => word === value)) {
    report(fieldError.notSupported([...at, name], value, allowed));
  }
}

/** Exactly one of the members must be there: one Required error when none is, one Forbidden for each after the first. */
export function checkUnion(object: JsonObject, members: readonly string[], at: FieldPath, report: Report): void {
  const present = members.filter((name) => valueAt(object, name) !== undefined);
  if (present.length === 0) report(fieldError.required(at, `must specify one of: ${members.join(", ")}`));
  for (const name of present.slice(1))
    report(fieldError.forbidden([...at, name], "may not specify more than 1 of them"));
}

/** Counts and periods: Kubernetes knows few numbers that may be below zero. Absent is allowed. */
export function checkNotNegative(object: JsonObject, names: readonly string[], at: FieldPath, report: Report): void {
  for (const name of names) {
    const value = object[name];
    if (typeof value === "number" && value < 0)
      report(fieldError.invalid([...at, name], value, "must be greater than or equal to 0"));
  }
}

/** The schema and a rule may both miss the same field: one of them is enough. The first of equal errors stays, in its place. */
export function withoutRepetition(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ reason, field, message }) => {
    const key = reason === "FieldValueRequired" ? `${reason} ${field}` : `${reason} ${field} ${message}`;
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}
