import type { JsonObject } from "#lib/base/index.ts";
import type { KindObjectMeta, KindOwnerReference } from "#lib/schema/index.ts";

/** Points to the object that owns this one; by `uid`, so a new object of the same name owns nothing. */
export type OwnerReference = KindOwnerReference;

/** Kubernetes ObjectMeta, as far as Slipway reads it. Other fields are kept as they are. Times are RFC 3339 texts. */
export type ObjectMeta = KindObjectMeta;

/** Any Kubernetes-style object. Typed kinds narrow `spec` and `status`. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** A KubeObject as the API returns it: the server-owned metadata are present. */
export type Stored<T extends KubeObject = KubeObject> = T & {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
};

/** Kubernetes ObjectReference. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** A list answer: the items, the revision they describe, and the token of the next page if there is one. */
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

/** The reference whose `controller` is true, if any. */
export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** A controller reference to `owner`, which must have been stored. */
export function controllerReference(owner: Stored, blockOwnerDeletion = true): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion };
}

/** `namespace/name`, or just the name of a cluster-scoped object: the key of caches and work queues. */
export const keyOf = (metadata: ObjectMeta): string =>
  metadata.namespace === undefined || metadata.namespace === ""
    ? (metadata.name ?? "")
    : `${metadata.namespace}/${metadata.name ?? ""}`;

/** Undoes keyOf. */
export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** A KubeObject seen as plain JSON, for code that walks it by path. */
export const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
