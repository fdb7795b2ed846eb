import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Entry } from "../store/store.ts";
import { metadataOf, withMetadata } from "../verbs/metadata.ts";
import { heldPropagation } from "../verbs/propagation.ts";

/** A reference; the uid alone identifies the owner. */
export interface OwnerLink {
  readonly uid: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** A foreground deletion of the owner waits for this object. */
  readonly blocks: boolean;
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

function referencesOf(object: JsonObject): readonly JsonObject[] {
  const references = metadataOf(object)["ownerReferences"];
  return Array.isArray(references) ? references.filter((one: JsonValue) => isJsonObject(one)) : [];
}

export const ownerLinks = (object: JsonObject): readonly OwnerLink[] =>
  referencesOf(object).map(({ uid, apiVersion, kind, blockOwnerDeletion }) => ({
    uid: textOf(uid),
    apiVersion: textOf(apiVersion),
    kind: textOf(kind),
    blocks: blockOwnerDeletion === true,
  }));

/** The object without references to these uids. */
export const withoutOwners = (object: JsonObject, uids: ReadonlySet<string>): JsonObject =>
  withReferences(
    object,
    referencesOf(object).filter(({ uid }) => !uids.has(textOf(uid))),
  );

/** The object with references that block no owner. */
export const withoutBlocking = (object: JsonObject): JsonObject =>
  withReferences(
    object,
    referencesOf(object).map((reference) =>
      reference["blockOwnerDeletion"] === true ? { ...reference, blockOwnerDeletion: false } : reference,
    ),
  );

const withReferences = (object: JsonObject, references: readonly JsonObject[]): JsonObject =>
  withMetadata(object, { ownerReferences: references.length === 0 ? undefined : references });

/** Owners are in the same namespace or cluster-scoped. */
export const mayOwn = (owner: Entry, dependant: Entry): boolean =>
  owner.key.namespace === "" || owner.key.namespace === dependant.key.namespace;

export const isDeletingDependants = (entry: Entry): boolean =>
  entry.terminating && heldPropagation(entry.object()) === "Foreground";
