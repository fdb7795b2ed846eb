import { formatTime, getOrAdd, type Instant, isJsonObject, type JsonObject, objectsAt } from "#lib/base/index.ts";
import { ApiError, type ResourceType } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreKey, Transaction } from "../store/store.ts";
import { finalizersOf, isTerminating, withMetadata } from "./metadata.ts";

/** Keeps a deleted CustomResourceDefinition until its objects are gone. */
export const crdCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** A definition about to be deleted stays, marked as terminating, until its objects are gone. */
export function leavingDefinition(definition: JsonObject, now: Instant): JsonObject {
  const finalizers = finalizersOf(definition);
  const terminating = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: formatTime(now),
    reason: "InstanceDeletionInProgress",
    message: "the objects of this kind are being deleted",
  };
  const status = isJsonObject(definition["status"]) ? definition["status"] : {};
  const told = { ...definition, status: { ...status, conditions: [...objectsAt(status, "conditions"), terminating] } };
  return finalizers.includes(crdCleanupFinalizer)
    ? told
    : withMetadata(told, { finalizers: [...finalizers, crdCleanupFinalizer] });
}

export const definitions = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" } as const;

/** `name` is `plural.group`. */
export const definitionKey = (name: string): StoreKey => ({ ...definitions, namespace: "", name });

export const isDefinition = ({ type }: ServedResource): boolean =>
  type.group === definitions.group && type.plural === definitions.resource;

// Cached, since it is needed for every object.
const keyByType = new WeakMap<ResourceType, StoreKey>();

function keyOfDefinition(type: ResourceType): StoreKey {
  return getOrAdd(keyByType, type, () => definitionKey(`${type.plural}.${type.group}`));
}

/** Refuses a new object of a custom kind that is being removed. */
export function checkDefinition(transaction: Transaction, { type, custom }: ServedResource): void {
  if (!custom) return;
  const entry = transaction.head(keyOfDefinition(type));
  if (entry !== undefined && !isTerminating(entry.object())) return;
  throw new ApiError("MethodNotAllowed", "create is not allowed while the custom resource definition is being removed");
}
