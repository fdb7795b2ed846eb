import type { JsonObject } from "#lib/base/index.ts";
import type { KindObjectMeta, KindOwnerReference } from "#lib/schema/index.ts";

// The shape of every Kubernetes object. Plain JSON: no classes, nothing is dropped that Slipway does not know, and what an API
// returned is frozen, so that mirrors may hand the same object to everybody.

/**
 * Points to the object that owns this one; by `uid`, so a new object of the same name owns nothing. At most one reference of an
 * object has `controller: true`: that owner acts on it, the others only keep it alive.
 */
export type OwnerReference = KindOwnerReference;

/** Kubernetes ObjectMeta, as far as Slipway reads it. Other fields are kept as they are. Times are RFC 3339 texts. */
export type ObjectMeta = KindObjectMeta;

/**
 * Any Kubernetes-style object. Typed kinds narrow `spec` and `status`; kinds without them (ConfigMap, Event) have members of their
 * own, which is why the type is open at both.
 */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * A KubeObject as the API returns it: the server-owned metadata are present. `uid` never repeats; `resourceVersion` is opaque but
 * for `compareResourceVersions` of the kit; `creationTimestamp` has whole seconds.
 */
export type Stored<T extends KubeObject = KubeObject> = T & {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
};

/** Kubernetes ObjectReference: names an object or a part of it, in statuses and events. It owns nothing and may dangle. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/**
 * A list answer: the items, the revision they describe, and the token of the next page if there is one. `remainingItemCount` is
 * given for later pages only, and never with selectors. A watch from `resourceVersion` misses nothing and repeats nothing.
 */
export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** The reference whose `controller` is true, if any. It may name an owner that is gone, or another object of its name. */
export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/**
 * A controller reference to `owner`, which must have been stored: only then has it a uid. `blockOwnerDeletion` makes a foreground
 * deletion of the owner wait for the owned.
 */
export function controllerReference(owner: Stored, blockOwnerDeletion = true): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion };
}

/**
 * `namespace/name`, or just the name of a cluster-scoped object: the key of caches and work queues. Names hold no slash, so no two
 * objects of a kind have the same key. An empty namespace is none.
 */
export const keyOf = (metadata: ObjectMeta): string =>
  metadata.namespace === undefined || metadata.namespace === ""
    ? (metadata.name ?? "")
    : `${metadata.namespace}/${metadata.name ?? ""}`;

/** Undoes keyOf: `a/b` → namespace `a`, name `b`. */
export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** A KubeObject seen as plain JSON, for code that walks it by path. The same object, not a copy. */
export const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
