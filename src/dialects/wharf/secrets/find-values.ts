// Steps name Secrets and ConfigMaps, as they do on a cluster. Where there is none, something else has what they name: the server of this user, or
// files that only this user can read.

import { err, ok, type Result } from "#lib/base/index.ts";

export type ValueKind = "secret" | "configMap";

/** By key. */
export type Values = ReadonlyMap<string, Buffer>;

/** A place that has secrets and config maps. */
export interface ValuePlace {
  /** Where this one is looked for, in words: for whoever is to put it there. */
  readonly where: (kind: ValueKind, name: string) => string;
  /** Undefined when it is not there. The error is for people: that it is there and cannot be used, or that nobody knows. */
  readonly find: (kind: ValueKind, name: string) => Promise<Result<Values | undefined, string>>;
}

/** Nothing that could be a path. A cluster takes fewer. */
const allowed = /^[A-Za-z0-9][-._A-Za-z0-9]{0,252}$/;

/**
 * What the first of the places has that has it. The error names what was looked for and all the places; one that cannot tell ends the search, because
 * what is found further on may not be what is meant.
 */
export async function findValues(
  places: readonly ValuePlace[],
  kind: ValueKind,
  name: string,
): Promise<Result<Values, string>> {
  const called = `${kind === "secret" ? "secret" : "config map"} ${name}`;
  if (!allowed.test(name))
    return err(`${called}: expected a name of letters, digits, "-", "." and "_", found ${JSON.stringify(name)}`);
  for (const place of places) {
    const found = await place.find(kind, name);
    if (!found.ok) return err(`${called}: ${found.error}`);
    if (found.value !== undefined) return ok(found.value);
  }
  const where = places.map((place) => place.where(kind, name)).join(", and in ");
  return err(`there is no ${called}; it was looked for in ${where === "" ? "no place" : where}`);
}
