import { isJsonObject, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { isCollection } from "../kinds.ts";
import { readObject } from "../model/read.ts";
import type { AnyObject, Claim, Collection } from "../objects.ts";
import type { World } from "../world.ts";
import type { Call } from "./call.ts";

// Nobody gives a right that they do not have: with the claim to write users, roles or elevated tasks alone, everybody
// could make themselves a superuser.

/** What an object gives to others. */
export function grantsOf(world: World, object: AnyObject): readonly Claim[] {
  const ofRoles = (names: readonly string[]) => names.flatMap((name) => world.get("roles", name)?.Claims ?? []);
  if ("Claims" in object) return object.Claims;
  if ("ExtraClaims" in object && "ExtraRoles" in object) return [...object.ExtraClaims, ...ofRoles(object.ExtraRoles)];
  return "Roles" in object ? ofRoles(object.Roles) : [];
}

/** Throws 403 unless the caller has every claim; those of `old` count as given. */
export function demandClaims(call: Call, claims: readonly Claim[], old: readonly Claim[] = []): void {
  const { caller } = call;
  if (claims.length === 0 || caller.may("*", "*", "*")) return;
  const given = new Set(old.map(textOf));
  const missing = claims.find((claim) => !given.has(textOf(claim)) && !holds(call, claim));
  if (missing === undefined) return;
  const { scope, action, specific } = missing;
  const [model = "", key = ""] = call.path;
  const reason = "Cannot give a right that the caller does not have";
  throw new Refused(refusal(403, "AUTH", model, key, reason, `Requires: ${scope} ${action} ${specific}`));
}

/** As `demandClaims`, for an object as it is about to be written. What does not read is refused elsewhere. */
export function demandGrants(call: Call, world: World, collection: Collection, sent: JsonValue, old?: AnyObject): void {
  if (collection !== "users" && collection !== "roles" && collection !== "tasks") return;
  const read = readObject<Collection>(collection, sent, old);
  if (read.ok) demandClaims(call, grantsOf(world, read.value), old === undefined ? [] : grantsOf(world, old));
}

/** For every object of a bundle. */
export function demandGrantsOfContent(call: Call, world: World, content: JsonObject): void {
  for (const [collection, section] of Object.entries(objectOf(content["sections"])))
    if (isCollection(collection))
      for (const object of Object.values(objectOf(section))) demandGrants(call, world, collection, object ?? null);
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

const textOf = ({ scope, action, specific }: Claim): string => JSON.stringify([scope, action, specific]);

/** Of one claim; more need every right. */
const mostTriples = 10_000;

function holds({ caller }: Call, claim: Claim): boolean {
  const [scopes = [], actions = [], specifics = []] = ["scope", "action", "specific"].map((member) =>
    (textAt({ ...claim }, member) ?? "").split(",").map((word) => word.trim()),
  );
  if (scopes.length * actions.length * specifics.length > mostTriples) return false;
  return scopes.every((scope) =>
    actions.every((action) => specifics.every((specific) => caller.may(scope, action, specific))),
  );
}
