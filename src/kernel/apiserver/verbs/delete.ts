import { deepFreeze, formatTime, isJsonObject, type JsonObject, parseInstant } from "#lib/base/index.ts";
import { conflict, notFound, staleRevision, type Status, uidMismatch } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, Transaction } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { isHeld, writeNext } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { isDefinition, leavingDefinition } from "./definition-rules.ts";
import { isTerminating, metaNumber, metaText, withMetadata, withoutRevision } from "./metadata.ts";
import { checkNamespaceDeletion, isNamespace } from "./namespace-rules.ts";
import type { DeleteRequest } from "./options.ts";
import { checkPolicy, withPropagation } from "./propagation.ts";
import { keyFor, viewOf } from "./storage-view.ts";

// An object that nothing holds is removed at once. One with a finalizer or grace period is marked with its end, and the
// update that removes the last finalizer removes it (change.ts). Marks are never taken back.
//
//   request            not held            held                        terminating already
//   no grace period    removed             marked, period 0            as it is, or removed when nothing holds it any more
//   a grace period     marked              marked                      the shorter of the two periods counts

export interface Deletion {
  readonly answer: Answer;
  readonly removed: boolean;
}

/** 409 where the rules of the kind want the object kept. A missing one is none of their business. */
export async function reviewDeletion(
  context: ApiContext,
  resource: ServedResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const entry = resource.reviewDeletion && context.store.get(keyFor(resource, namespace, name));
  const reasons = entry && (await resource.reviewDeletion?.(viewOf(resource, entry)));
  if (reasons !== undefined && reasons.length > 0) throw conflict(resource.type, name, reasons.join("; "));
}

/** Resolves when durable; dependants and a namespace's content follow later. */
export async function deleteObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  request: DeleteRequest,
): Promise<Deletion> {
  checkPolicy(request);
  return context.store.write((transaction) => deleteHead(context, transaction, resource, target, request));
}

/** 404, 409 for a failed precondition, 403 for a protected namespace. Repeating a deletion writes nothing. */
export function deleteHead(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  request: DeleteRequest,
): Deletion {
  const key = keyFor(resource, target.namespace, target.name);
  const entry = transaction.head(key);
  if (entry === undefined) throw notFound(resource.type, target.name);
  const old = viewOf(resource, entry);
  checkPreconditions(resource, target.name, request, old);
  checkNamespaceDeletion(resource, target.name);

  // The finalizers of the kind and of the policy count as the object's own from here on.
  const held = withPropagation(resource, beforeDeletion(context, resource, old), request);
  const graceSeconds = graceOf(resource, old, request);
  if (graceSeconds === 0 && !isHeld(held)) return remove(transaction, resource, entry, held, request);
  const next = isTerminating(old) ? shortened(held, graceSeconds) : marked(context, held, graceSeconds);
  const warnings = warningsOf(resource, request);
  if (next === old) return { answer: { resource, entry, warnings }, removed: false };
  if (request.dryRun === true) return { answer: { resource, draft: deepFreeze(next), warnings }, removed: false };
  const written = writeNext(context, transaction, resource, key, next, undefined);
  return { answer: { resource, entry: written, warnings }, removed: false };
}

/** 409, so that a client never deletes another object than the one it saw. */
function checkPreconditions(resource: ServedResource, name: string, request: DeleteRequest, old: JsonObject): void {
  const { uid, resourceVersion } = request.preconditions ?? {};
  const found = metaText(old, "uid");
  if (uid !== undefined && uid !== found) throw uidMismatch(resource.type, name, uid, found);
  if (resourceVersion !== undefined && resourceVersion !== metaText(old, "resourceVersion")) {
    throw staleRevision(resource.type, name);
  }
}

/** What deletion adds to objects of some kinds. */
function beforeDeletion({ clock }: ApiContext, resource: ServedResource, old: JsonObject): JsonObject {
  if (isTerminating(old)) return old;
  if (isNamespace(resource)) {
    return { ...old, status: { ...(isJsonObject(old["status"]) ? old["status"] : {}), phase: "Terminating" } };
  }
  return isDefinition(resource) ? leavingDefinition(old, clock.now()) : old;
}

function graceOf(resource: ServedResource, old: JsonObject, request: DeleteRequest): number {
  const own = resource.gracePeriodSeconds(old);
  const { gracePeriodSeconds: wanted } = request;
  // Also for a terminating object: a Pod whose containers have ended need not wait.
  if (own === 0 || wanted === 0) return 0;
  if (wanted === undefined) return isTerminating(old) ? (metaNumber(old, "deletionGracePeriodSeconds") ?? own) : own;
  // As in Kubernetes: a negative period is the shortest graceful one.
  return wanted < 0 ? 1 : wanted;
}

/** The generation grows, so that controllers see the change. The timestamp is the end of the grace period. */
function marked(context: ApiContext, object: JsonObject, graceSeconds: number): JsonObject {
  const generation = metaNumber(object, "generation") ?? 0;
  return withMetadata(object, {
    deletionTimestamp: formatTime(context.clock.now() + graceSeconds * 1000),
    deletionGracePeriodSeconds: graceSeconds,
    ...(generation > 0 ? { generation: generation + 1 } : {}),
  });
}

/** A repeated DELETE can only shorten the grace period. */
function shortened(old: JsonObject, graceSeconds: number): JsonObject {
  const before = metaNumber(old, "deletionGracePeriodSeconds") ?? 0;
  const end = parseInstant(metaText(old, "deletionTimestamp"));
  if (graceSeconds >= before || end === undefined) return old;
  return withMetadata(old, {
    deletionTimestamp: formatTime(end - (before - graceSeconds) * 1000),
    deletionGracePeriodSeconds: graceSeconds,
  });
}

/** Watchers get `last` under the revision of the removal. */
function remove(
  transaction: Transaction,
  resource: ServedResource,
  entry: Entry,
  last: JsonObject,
  request: DeleteRequest,
): Deletion {
  const warnings = warningsOf(resource, request);
  if (request.dryRun === true) return { answer: { resource, warnings, draft: deepFreeze(last) }, removed: true };
  const bare = withoutRevision(last);
  const removed = transaction.remove(entry.key, resource.storage?.encode(bare) ?? bare);
  return { answer: { resource, warnings, entry: removed }, removed: true };
}

/** Kubernetes' warning for kinds that orphan their dependants by default. */
function warningsOf(resource: ServedResource, request: DeleteRequest): readonly string[] {
  const { propagationPolicy, orphanDependents } = request;
  if (resource.dependants !== "orphaned" || propagationPolicy !== undefined || orphanDependents !== undefined) {
    return resource.warnings;
  }
  return [...resource.warnings, orphanedPodsWarning];
}

const orphanedPodsWarning =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

export function removalStatus(resource: ServedResource, object: JsonObject): Status {
  const { group, plural } = resource.type;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: metaText(object, "name"),
      ...(group === "" ? {} : { group }),
      kind: plural,
      uid: metaText(object, "uid"),
    },
    code: 200,
  };
}
