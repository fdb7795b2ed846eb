// Steps name Secrets and ConfigMaps. Without a cluster they come from this user's server or private files.

import { err, ok, type Result } from "#lib/base/index.ts";

export type ValueKind = "secret" | "configMap";

export type Values = ReadonlyMap<string, Buffer>;

export interface ValuePlace {
  readonly where: (kind: ValueKind, name: string) => string;
  /** Undefined if it does not exist; an error if it cannot be used or read. */
  readonly find: (kind: ValueKind, name: string) => Promise<Result<Values | undefined, string>>;
}

const allowed = /^[A-Za-z0-9][-._A-Za-z0-9]{0,252}$/;

/** The values from the first place that has them. An error ends the search, because later places may not be meant. */
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
  return err(`there is no ${called}; looked in ${where === "" ? "no place" : where}`);
}
