import { deepFreeze, formatTime, isJsonObject, type JsonObject, parseInstant } from "#lib/base/index.ts";
import type { Status } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, Transaction } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { isHeld, writeNext } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { crdCleanupFinalizer, isDefinition } from "./definition-rules.ts";
import { finalizersOf, isTerminating, metaNumber, metaText, withMetadata, withoutRevision } from "./metadata.ts";
import { checkNamespaceDeletion, isNamespace } from "./namespace-rules.ts";
import type { DeleteRequest } from "./options.ts";
import { invalidOption, notFound, staleRevision, uidMismatch } from "./refusals.ts";
import { keyFor, viewOf } from "./storage-view.ts";

/** What a DELETE did: `removed` when the object is gone, else it is terminating. */
export interface Deletion {
  readonly answer: Answer;
  readonly removed: boolean;
}

/** DELETE of one object, with background propagation: dependants are collected afterwards. */
export async function deleteObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  request: DeleteRequest,
): Promise<Deletion> {
  checkPolicy(request);
  return context.store.write((transaction) => deleteHead(context, transaction, resource, target, request));
}

/** Refuses the policies that are not served, by name. */
export function checkPolicy(request: DeleteRequest): void {
  const { propagationPolicy: policy, orphanDependents } = request;
  if (policy !== undefined && orphanDependents !== undefined) {
    throw invalidOption("propagationPolicy", "orphanDependents and propagationPolicy cannot both be set");
  }
  if (policy !== undefined && !["Background", "Foreground", "Orphan"].includes(policy)) {
    throw invalidOption(
      "propagationPolicy",
      `Unsupported value: ${JSON.stringify(policy)}: supported values: "Background"`,
    );
  }
  const wanted = orphanDependents === true ? "Orphan" : policy;
  if (wanted === "Foreground" || wanted === "Orphan") {
    throw invalidOption("propagationPolicy", `${wanted} deletion is not supported by this server yet, use Background`);
  }
}

/** The rules of deletion, inside the critical section. */
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

  const held = beforeDeletion(resource, old);
  const graceSeconds = graceOf(resource, old, request);
  if (graceSeconds === 0 && !isHeld(held)) return remove(transaction, resource, entry, old, request);
  const next = isTerminating(old) ? shortened(old, graceSeconds) : marked(context, held, graceSeconds);
  if (next === old) return { answer: { resource, entry, warnings: resource.warnings }, removed: false };
  if (request.dryRun === true) {
    return { answer: { resource, draft: deepFreeze(next), warnings: resource.warnings }, removed: false };
  }
  const written = writeNext(context, transaction, resource, key, next);
  return { answer: { resource, entry: written, warnings: resource.warnings }, removed: false };
}

function checkPreconditions(resource: ServedResource, name: string, request: DeleteRequest, old: JsonObject): void {
  const { uid, resourceVersion } = request.preconditions ?? {};
  const found = metaText(old, "uid");
  if (uid !== undefined && uid !== found) throw uidMismatch(resource.type, name, uid, found);
  if (resourceVersion !== undefined && resourceVersion !== metaText(old, "resourceVersion")) {
    throw staleRevision(resource.type, name);
  }
}

/** What deletion adds to an object of some kinds before anything else. */
function beforeDeletion(resource: ServedResource, old: JsonObject): JsonObject {
  if (isTerminating(old)) return old;
  if (isNamespace(resource)) {
    return { ...old, status: { ...(isJsonObject(old["status"]) ? old["status"] : {}), phase: "Terminating" } };
  }
  if (!isDefinition(resource)) return old;
  const finalizers = finalizersOf(old);
  if (finalizers.includes(crdCleanupFinalizer)) return old;
  return withMetadata(old, { finalizers: [...finalizers, crdCleanupFinalizer] });
}

/** Seconds until the object may be removed. Only kinds that end gracefully have a choice. */
function graceOf(resource: ServedResource, old: JsonObject, request: DeleteRequest): number {
  const own = resource.gracePeriodSeconds(old);
  const { gracePeriodSeconds: wanted } = request;
  // Also of an object that is terminating: a Pod whose containers have ended meanwhile has nothing left to wait for.
  if (own === 0 || wanted === 0) return 0;
  if (wanted === undefined) return isTerminating(old) ? (metaNumber(old, "deletionGracePeriodSeconds") ?? own) : own;
  // Kubernetes reads a negative period as the shortest one that is still graceful.
  return wanted < 0 ? 1 : wanted;
}

function marked(context: ApiContext, object: JsonObject, graceSeconds: number): JsonObject {
  const generation = metaNumber(object, "generation") ?? 0;
  return withMetadata(object, {
    deletionTimestamp: formatTime(context.clock.now() + graceSeconds * 1000),
    deletionGracePeriodSeconds: graceSeconds,
    ...(generation > 0 ? { generation: generation + 1 } : {}),
  });
}

/** A repeated DELETE can only bring the end closer. */
function shortened(old: JsonObject, graceSeconds: number): JsonObject {
  const before = metaNumber(old, "deletionGracePeriodSeconds") ?? 0;
  const end = parseInstant(metaText(old, "deletionTimestamp"));
  if (graceSeconds >= before || end === undefined) return old;
  return withMetadata(old, {
    deletionTimestamp: formatTime(end - (before - graceSeconds) * 1000),
    deletionGracePeriodSeconds: graceSeconds,
  });
}

function remove(
  transaction: Transaction,
  resource: ServedResource,
  entry: Entry,
  old: JsonObject,
  request: DeleteRequest,
): Deletion {
  const { warnings } = resource;
  if (request.dryRun === true) return { answer: { resource, warnings, draft: old }, removed: true };
  const bare = withoutRevision(old);
  const last = transaction.remove(entry.key, resource.storage?.encode(bare) ?? bare);
  return { answer: { resource, warnings, entry: last }, removed: true };
}

/** The body that tells of a removal. */
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
