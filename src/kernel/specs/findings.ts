import { type FieldPath, type JsonObject, textAt, valueAt } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "#lib/schema/index.ts";
import type { NameRule } from "#kernel/model/index.ts";

export type Report = (error: FieldError) => void;

/** What rules have found so far, in the order of the fields. */
export interface Findings {
  /** What every Kubernetes refuses. */
  readonly errors: FieldError[];
  /** What Kubernetes supports and this server does not. It refuses these too, rather than run a Pod without them. */
  readonly unsupported: FieldError[];
  /** Fields without effect here, as `field: why`. */
  readonly warnings: string[];
}

export const noFindings = (errors: readonly FieldError[] = []): Findings => ({
  errors: [...errors],
  unsupported: [],
  warnings: [],
});

/** A text that must be one of a few words if it is present. */
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

/** A name that must be there and follow a rule; false if it does not. */
export function checkNamed(object: JsonObject, member: string, rule: NameRule, at: FieldPath, report: Report): boolean {
  const name = textAt(object, member);
  const problem = name === undefined ? undefined : rule(name);
  if (name === undefined) report(fieldError.required([...at, member]));
  else if (problem !== undefined) report(fieldError.invalid([...at, member], name, problem));
  return name !== undefined && problem === undefined;
}

/** Exactly one of the members must be present: one Required error for none, one Forbidden for each after the first. */
export function checkUnion(object: JsonObject, members: readonly string[], at: FieldPath, report: Report): void {
  const present = members.filter((name) => valueAt(object, name) !== undefined);
  if (present.length === 0) report(fieldError.required(at, `must specify one of: ${members.join(", ")}`));
  for (const name of present.slice(1))
    report(fieldError.forbidden([...at, name], "may not specify more than 1 of them"));
}

/** Numbers that must not be negative; they may be absent. */
export function checkNotNegative(object: JsonObject, names: readonly string[], at: FieldPath, report: Report): void {
  for (const name of names) {
    const value = object[name];
    if (typeof value === "number" && value < 0)
      report(fieldError.invalid([...at, name], value, "must be greater than or equal to 0"));
  }
}

/** Drops repeated errors: schema and rules may report the same missing field. */
export function withoutRepetition(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ reason, field, message }) => {
    const key = reason === "FieldValueRequired" ? `${reason} ${field}` : `${reason} ${field} ${message}`;
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}
