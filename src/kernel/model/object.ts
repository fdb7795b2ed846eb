import type { JsonObject } from "#lib/base/index.ts";
import type { KindObjectMeta, KindOwnerReference } from "#lib/schema/index.ts";

// The shape of Kubernetes objects: plain JSON in which unknown members are kept. Objects returned by the API are
// frozen, because mirrors share them.

/**
 * Refers to an owner by `uid`. At most one reference has `controller: true`: that owner manages the object, the others
 * only keep it alive.
 */
export type OwnerReference = KindOwnerReference;

/** Kubernetes ObjectMeta, as far as Slipway reads it. Times are RFC 3339 texts. */
export type ObjectMeta = KindObjectMeta;

/** Any Kubernetes-style object. Typed kinds narrow `spec` and `status`; some (ConfigMap, Event) have other members. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * A KubeObject as the API returns it. `uid` never repeats; `resourceVersion` is opaque except for
 * `compareResourceVersions`; `creationTimestamp` has whole seconds.
 */
export type Stored<T extends KubeObject = KubeObject> = T & {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
};

/** Kubernetes ObjectReference: names an object or a part of it, which need not exist. */
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
 * A list: items, their revision, and the token of the next page. `remainingItemCount` is never present with selectors.
 * A watch from `resourceVersion` misses nothing and repeats nothing.
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

/** The controlling owner's reference. The owner may be gone, or its name reused. */
export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** A controller reference to `owner`. `blockOwnerDeletion` makes a foreground deletion wait for the owned object. */
export function controllerReference(owner: Stored, blockOwnerDeletion = true): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion };
}

/** `namespace/name`, or the name of a cluster-scoped object: the key of caches and work queues. */
export const keyOf = (metadata: ObjectMeta): string =>
  metadata.namespace === undefined || metadata.namespace === ""
    ? (metadata.name ?? "")
    : `${metadata.namespace}/${metadata.name ?? ""}`;

export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The same object as plain JSON, not a copy. */
export const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
