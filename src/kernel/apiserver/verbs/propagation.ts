import type { JsonObject } from "#lib/base/index.ts";
import { invalidOption } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { finalizersOf, withMetadata } from "./metadata.ts";
import type { DeleteRequest } from "./options.ts";

// What happens to the dependants of a deleted object. The choice is stored as one of two finalizers, which gc/owners.ts
// removes:
//
//   Background    no finalizer: the object goes, its dependants are collected afterwards
//   Foreground    `foregroundDeletion`: dependants first; those with blockOwnerDeletion keep the object until they are gone
//   Orphan        `orphan`: dependants lose their reference to the object, then it goes, and they stay

/** Keeps a deleted object until its blocking dependants are gone. */
export const foregroundFinalizer = "foregroundDeletion";
/** Keeps a deleted object until its dependants no longer refer to it. */
export const orphanFinalizer = "orphan";

const policies = ["Background", "Foreground", "Orphan"] as const;
export type Propagation = (typeof policies)[number];

/** 422 for an unknown policy, or one given in both ways. */
export function checkPolicy({ propagationPolicy: policy, orphanDependents }: DeleteRequest): void {
  if (policy !== undefined && orphanDependents !== undefined) {
    throw invalidOption("propagationPolicy", "orphanDependents and propagationPolicy cannot both be set");
  }
  if (policy === undefined || policies.some((known) => known === policy)) return;
  const supported = policies.map((known) => JSON.stringify(known)).join(", ");
  throw invalidOption(
    "propagationPolicy",
    `Unsupported value: ${JSON.stringify(policy)}: supported values: ${supported}`,
  );
}

/** From the request, else a finalizer of the object, else the kind's default. */
export function propagationOf(resource: ServedResource, object: JsonObject, request: DeleteRequest): Propagation {
  const { propagationPolicy, orphanDependents } = request;
  const policy = policies.find((known) => known === propagationPolicy);
  if (policy !== undefined) return policy;
  if (orphanDependents !== undefined) return orphanDependents ? "Orphan" : "Background";
  return heldPropagation(object) ?? (resource.dependants === "orphaned" ? "Orphan" : "Background");
}

/** The stored choice, if any. `orphan` wins, as in Kubernetes. */
export function heldPropagation(object: JsonObject): Exclude<Propagation, "Background"> | undefined {
  const finalizers = finalizersOf(object);
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : undefined;
}

/** The object with only the policy's finalizer of the two; the same object when unchanged. */
export function withPropagation(resource: ServedResource, object: JsonObject, request: DeleteRequest): JsonObject {
  if (resource.dependants === "none") return object;
  const before = finalizersOf(object);
  const policy = propagationOf(resource, object, request);
  const wanted = policy === "Orphan" ? orphanFinalizer : policy === "Foreground" ? foregroundFinalizer : undefined;
  const others = before.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const isSettled = before.length === others.length + (wanted === undefined ? 0 : 1);
  if (isSettled && (wanted === undefined || before.includes(wanted))) return object;
  const finalizers = wanted === undefined ? others : [...others, wanted];
  return withMetadata(object, { finalizers: finalizers.length === 0 ? undefined : finalizers });
}
