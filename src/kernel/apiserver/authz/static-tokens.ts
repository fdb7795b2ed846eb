import { randomBytes } from "node:crypto";
import { type Clock, formatTime, isJsonObject, systemClock } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Store } from "../store/store.ts";
import { Credential, credentialHash, newCredential } from "./credential.ts";

/** A new token of 256 random bits. It is known to whoever made it and to nobody else. */
export const newToken = (): string => randomBytes(32).toString("base64url");

/**
 * A token for a user and his groups that is good until its credential is deleted, for who has the store itself and asks no server:
 * nobody's rights are looked at. Told once and never again. Durable when resolved.
 */
export async function createStaticToken(
  store: Pick<Store, "write">,
  user: string,
  groups: readonly string[],
  clock: Clock = systemClock,
): Promise<string> {
  const token = newToken();
  const made = newCredential({ user, groups, form: "Token", sha256: credentialHash(token) });
  const { name = "" } = made.metadata;
  const birth = { name, uid: newUid(), creationTimestamp: formatTime(clock.now()), generation: 1 };
  const object: unknown = { ...made, metadata: birth };
  if (!isJsonObject(object)) throw new Error("a credential is an object");
  const key = { group: Credential.group, resource: Credential.plural, namespace: "", name };
  await store.write((transaction) => transaction.put(key, object));
  return token;
}
