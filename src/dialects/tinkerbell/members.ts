import { formatInstant, type Instant, parseInstant } from "#lib/base/index.ts";

/**
 * The members without those that are undefined: absent and undefined are not the same in a document. The very object where there are none,
 * which takes a tenth of the time.
 */
export function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  if (isWhole(members)) return members;
  const kept: Partial<T> = {};
  // Every status that is read or written goes through here; entries and their filter took twice as long.
  for (const key of Object.keys(members) as (keyof T)[]) if (members[key] !== undefined) kept[key] = members[key];
  return kept as { [K in keyof T]: Exclude<T[K], undefined> };
}

function isWhole<T extends object>(members: T): members is T & { [K in keyof T]: Exclude<T[K], undefined> } {
  for (const key in members) if (members[key] === undefined) return false;
  return true;
}

/** A status, made of what is kept and what is put in: members that are undefined are those that go. */
export const withoutGone = <T extends object>(status: { readonly [K in keyof T]: T[K] | undefined }): T =>
  present(status) as T;

/** The instant a text tells; one that cannot be read counts as absent. */
export const instantOf = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);

export const timeOf = (at: Instant | undefined): string | undefined =>
  at === undefined ? undefined : formatInstant(at);
