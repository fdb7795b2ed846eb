import type { JsonObject } from "#lib/base/index.ts";
import { invalidOption } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { finalizersOf, withMetadata } from "./metadata.ts";
import type { DeleteRequest } from "./options.ts";

// What becomes of the objects that name a deleted one as their owner. The choice is stored with the object, as one of two finalizers
// that the server itself takes away (gc/owners.ts), so that it survives a restart:
//
//   Background    no finalizer: the object goes, its dependants are collected afterwards
//   Foreground    `foregroundDeletion`: dependants first; those with blockOwnerDeletion keep the object until they are gone
//   Orphan        `orphan`: dependants lose their reference to the object, then it goes, and they stay

/** Keeps a deleted object until those of its dependants are gone that block its deletion. */
export const foregroundFinalizer = "foregroundDeletion";
/** Keeps a deleted object until its dependants have forgotten it. */
export const orphanFinalizer = "orphan";

const policies = ["Background", "Foreground", "Orphan"] as const;
/** One of the three ways above. */
export type Propagation = (typeof policies)[number];

/** 422 for a policy that does not exist, and for one that is said in both ways at once. */
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

/**
 * What a deletion is to do with dependants: what the request says, else what a finalizer of the object says (a client may have put it
 * there at creation), else what the kind does.
 */
export function propagationOf(resource: ServedResource, object: JsonObject, request: DeleteRequest): Propagation {
  const { propagationPolicy, orphanDependents } = request;
  const policy = policies.find((known) => known === propagationPolicy);
  if (policy !== undefined) return policy;
  if (orphanDependents !== undefined) return orphanDependents ? "Orphan" : "Background";
  return heldPropagation(object) ?? (resource.dependants === "orphaned" ? "Orphan" : "Background");
}

/** The choice that is stored with an object; undefined when none is. `orphan` wins, as in Kubernetes. */
export function heldPropagation(object: JsonObject): Exclude<Propagation, "Background"> | undefined {
  const finalizers = finalizersOf(object);
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : undefined;
}

/** The object with the finalizer of the policy instead of those of the others; the object itself when it has just that. */
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
