import { formatInstant, type Instant, parseInstant } from "#lib/base/index.ts";

/** Without undefined members, which differ from absent ones in documents. Returns the same object if there are none. */
export function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  if (isWhole(members)) return members;
  const kept: Partial<T> = {};
  // A hot path: entries and a filter took twice as long.
  for (const key of Object.keys(members) as (keyof T)[]) if (members[key] !== undefined) kept[key] = members[key];
  return kept as { [K in keyof T]: Exclude<T[K], undefined> };
}

function isWhole<T extends object>(members: T): members is T & { [K in keyof T]: Exclude<T[K], undefined> } {
  for (const key in members) if (members[key] === undefined) return false;
  return true;
}

/** A status whose undefined members are removed. */
export const withoutGone = <T extends object>(status: { readonly [K in keyof T]: T[K] | undefined }): T =>
  present(status) as T;

/** Undefined for absent or unreadable texts. */
export const instantOf = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);

export const timeOf = (at: Instant | undefined): string | undefined =>
  at === undefined ? undefined : formatInstant(at);
