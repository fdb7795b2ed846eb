import { invalid, invalidValue, notFound, required, staleRevision, uidMismatch } from "#kernel/model/index.ts";
import { withMembers } from "#kernel/specs/index.ts";
import {
  atOnce,
  deepFreeze,
  inTurns,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  parseInstant,
} from "#lib/base/index.ts";
import type { Manager } from "../apply/managers.ts";
import { withWriters } from "../authz/acts-for.ts";
import type { ServedResource, Validation } from "../kinds/served-resource.ts";
import type { Entry, StoreKey, Transaction } from "../store/store.ts";
import { admit, checkSize, expectName, inNamespace, namedKind, refuseUnreadable, tidyMetadata } from "./admission.ts";
import { withAllotment } from "./allotment.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { movingOwners, type Owned, type OwnedChange, withAppliedOwners } from "./field-owners.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { checkMetadata, checkMetadataUpdate } from "./metadata-rules.ts";
import { finalizersOf, isTerminating, metadataOf, metaNumber, metaText, withMetadata } from "./metadata.ts";
import { specFinalizers } from "./namespace-rules.ts";
import { isReviewed, type WriteRequest } from "./options.ts";
import { keyFor, prunedBefore, viewOf } from "./storage-view.ts";

/** What a request writes to; `whole` is main part and status in one, for this process only. */
export type Endpoint = "main" | "status" | "whole" | "finalize" | "scale";

export interface Change {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly request: WriteRequest;
  /** For PUT: kinds may insist on a resourceVersion. */
  readonly replaces: boolean;
  /** True for a change that takes long: it is worked out ahead of the write, with turns for others in between. */
  readonly isLong?: boolean;
  /** `pruned` is the stored object if its kind's current schema has pruned it (`prunedBefore`). */
  compute(old: JsonObject, pruned: JsonObject | undefined): Computed;
}

export interface Computed {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
  /** The owners after an apply; those of other changes follow from the change. */
  readonly managers?: readonly Manager[];
}

/** The common path of PUT and PATCH. Resolves when durable; an unchanged object is not written. */
export function changeObject(context: ApiContext, change: Change): Promise<Answer> {
  return change.endpoint === "main" && isReviewed(change.resource, change.request)
    ? changeReviewed(context, change)
    : writeChange(context, change);
}

/** Reviews what the change would make of the object as it is now. */
async function changeReviewed(context: ApiContext, change: Change): Promise<Answer> {
  const { resource, name } = change;
  const entry = context.store.get(keyFor(resource, change.namespace, name));
  if (entry === undefined) throw notFound(resource.type, name);
  const old = viewOf(resource, entry);
  const next = prepare(change, change.compute(old, prunedBefore(resource, entry)).object, old);
  const isDue = resource.changesGeneration(next, old) && validate(change, next, old).causes.length === 0;
  const found = isDue ? await resource.review?.(next) : undefined;
  if (found !== undefined && found.causes.length > 0) throw invalid(resource.type, name, found.causes);
  const answer = await writeChange(context, change);
  return found === undefined ? answer : { ...answer, warnings: [...answer.warnings, ...found.warnings] };
}

function writeChange(context: ApiContext, change: Change): Promise<Answer> {
  const { resource, name } = change;
  const key = keyFor(resource, change.namespace, name);
  const write = (ahead?: Ahead): Promise<Answer> =>
    context.store.write((transaction) => {
      const entry = transaction.head(key);
      if (entry === undefined) throw notFound(resource.type, name);
      const decision = ahead?.entry === entry ? ahead.decision : decide(context, change, entry);
      return writeDecided(context, change, { transaction, key, entry, decision });
    });
  const entry = change.isLong === true ? context.store.get(key) : undefined;
  return entry === undefined ? write() : decideAhead(context, change, entry).then(write);
}

/** What a change makes of a stored object. `object` is undefined when it stays the same. */
interface Decision {
  readonly old: JsonObject;
  readonly object: JsonObject | undefined;
  readonly warnings: readonly string[];
  readonly pruner: ServedResource | undefined;
}

interface Ahead {
  readonly entry: Entry;
  readonly decision: Decision;
}

/** The decision on the object as it is now, with turns for others. Refusals are left for the transaction. */
async function decideAhead(context: ApiContext, change: Change, entry: Entry): Promise<Ahead | undefined> {
  try {
    const decision = await inTurns(deciding(context, change, entry, true), () => context.turns.piece());
    return { entry, decision };
  } catch {
    return undefined; // Thrown again, if it is still so.
  }
}

const decide = (context: ApiContext, change: Change, entry: Entry): Decision =>
  atOnce(deciding(context, change, entry, false));

/** Pure, at once or in steps of a few milliseconds for the largest objects. Throws refusals. */
function* deciding(
  context: ApiContext,
  change: Change,
  entry: Entry,
  inSteps: boolean,
): Generator<undefined, Decision> {
  const { resource, name } = change;
  const old = viewOf(resource, entry);
  const pruned = prunedBefore(resource, entry);
  const computed = change.compute(old, pruned);
  checkPreconditions(change, computed.object, old);
  if (inSteps) yield;
  const next = prepare(change, computed.object, old);
  if (inSteps) yield;
  const owned = yield* withOwners(context, change, computed, { old, next, inSteps });
  if (inSteps) yield;
  const known = [...resource.warnings, ...computed.warnings, ...owned.warnings];
  if (owned.object === next && jsonEquals(next, old)) {
    return { old, object: undefined, warnings: known, pruner: undefined };
  }
  if (inSteps) yield* resource.ahead?.(owned.object) ?? [];
  const found = validate(change, owned.object, old);
  if (found.causes.length > 0) {
    // A whole document: report unreadable members first.
    if (change.replaces || computed.managers !== undefined) refuseUnreadable(computed.object, resource);
    throw invalid(resource.type, name, found.causes);
  }
  if (inSteps) yield;
  // Sent and kept parts have been pruned, or a check of the whole object decides.
  const pruner = pruned !== undefined || resource.prune(next).object === next ? resource : undefined;
  return { old, object: owned.object, warnings: [...known, ...found.warnings], pruner };
}

function writeDecided(
  context: ApiContext,
  { resource, request }: Change,
  { transaction, key, entry, decision }: Ahead & { readonly transaction: Transaction; readonly key: StoreKey },
): Answer {
  const { warnings } = decision;
  if (decision.object === undefined) return { resource, entry, warnings };
  request.permit?.(decision.object, decision.old);
  const object = withAllotment(context, transaction, resource, decision.object, key);
  if (request.dryRun === true) return { resource, warnings, draft: deepFreeze(object) };
  return { resource, warnings, entry: writeNext(context, transaction, resource, key, object, decision.pruner) };
}

/** The prepared object with its owners. Most objects of this process have none. */
function* withOwners(
  context: ApiContext,
  change: Change,
  computed: Computed,
  step: Pick<OwnedChange, "old" | "next" | "inSteps">,
): Generator<undefined, Owned> {
  const { old, next, inSteps } = step;
  const { resource, request, endpoint } = change;
  if (computed.managers !== undefined) {
    return { object: withAppliedOwners(next, old, computed.managers), warnings: [] };
  }
  const stored = metadataOf(old)["managedFields"];
  const requested = metadataOf(computed.object)["managedFields"];
  if (stored === undefined && requested === undefined) return { object: next, warnings: [] };
  if (endpoint !== "whole") return yield* movingOwners(context, { ...step, resource, request, endpoint, requested });
  // Main part and status have separate entries, as if these were two writes.
  const main = withMembers(next, { status: old["status"] });
  const first = yield* movingOwners(context, { ...step, resource, request, endpoint: "main", next: main, requested });
  const before = first.object;
  const both = withMembers(before, { status: next["status"] });
  const owners = metadataOf(before)["managedFields"];
  const moved = { resource, request, endpoint: "status", old: before, next: both, requested: owners, inSteps };
  return { ...(yield* movingOwners(context, moved)), warnings: first.warnings };
}

/** 409 for another uid or revision, 422 without a required revision. Skips metadata identical to the stored one. */
function checkPreconditions(change: Change, object: JsonObject, old: JsonObject): void {
  if (object["metadata"] === old["metadata"]) return;
  const { type, allowsUnconditionalUpdate } = change.resource;
  const uid = metaText(object, "uid");
  if (uid !== "" && uid !== metaText(old, "uid")) throw uidMismatch(type, change.name, uid, metaText(old, "uid"));
  const { resourceVersion: revision = "" } = metadataOf(object);
  const field = "metadata.resourceVersion";
  // Kubernetes treats 0 as none.
  if (revision === "" || revision === "0" || revision === null) {
    if (!change.replaces || allowsUnconditionalUpdate) return;
    throw invalid(type, change.name, [required(field, "must be specified for an update")]);
  }
  if (typeof revision !== "string" || !/^\d+$/.test(revision)) {
    throw invalid(type, change.name, [invalidValue(field, revision, "must be an unsigned integer as a string")]);
  }
  if (revision !== metaText(old, "resourceVersion")) throw staleRevision(type, change.name);
}

/** Keeps the stored resourceVersion, so that an unchanged object is equal to the stored one. */
function prepare(change: Change, object: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  // Stored metadata is tidy.
  const sent = object["metadata"] === old["metadata"] ? object : tidyMetadata(object);
  const prepared = prepareEndpoint(change, sent, old);
  const isNew = resource.hasGeneration && resource.changesGeneration(prepared, old);
  return withKeptMetadata(prepared, old, isNew);
}

/** Each endpoint takes its own part of what was sent and the rest from the stored object. */
function prepareEndpoint(change: Change, candidate: JsonObject, old: JsonObject): JsonObject {
  const { resource } = change;
  switch (change.endpoint) {
    case "status":
      return resource.prepareForStatusUpdate(resource.withDefaults(candidate), old);
    case "whole":
      return resource.prepareForStatusUpdate(
        resource.withDefaults(candidate),
        prepareEndpoint({ ...change, endpoint: "main" }, candidate, old),
      );
    case "finalize":
      return {
        ...old,
        spec: { ...(isJsonObject(old["spec"]) ? old["spec"] : {}), finalizers: specFinalizers(candidate) },
      };
    case "main":
    case "scale":
      return withWriters(resource, resource.prepareForUpdate(resource.withDefaults(candidate), old), old, {
        writers: change.request.writers,
        replaces: change.replaces,
      });
  }
}

// Clients may omit these, and may format instants differently (`…00.000Z`); checkMetadataUpdate refuses changes.
const keptWhenAbsent = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "namespace",
] as const;

/** At most one copy, since this runs on every write. `isNew`: the change makes a new generation. */
function withKeptMetadata(object: JsonObject, old: JsonObject, isNew: boolean): JsonObject {
  const before = metadataOf(old);
  const after = metadataOf(object);
  if (after === before && !isNew) return object;
  const changes: Record<string, JsonObject[string]> = {};
  for (const member of keptWhenAbsent) {
    if (before[member] !== undefined && isLeftAsItWas(after[member], before[member])) changes[member] = before[member];
  }
  // The client's generation may be outdated.
  const generation = isNew ? (metaNumber(old, "generation") ?? 0) + 1 : before["generation"];
  if (after["generation"] !== generation) changes["generation"] = generation;
  if (before["managedFields"] !== undefined) changes["managedFields"] = before["managedFields"];
  if (after["resourceVersion"] !== before["resourceVersion"]) changes["resourceVersion"] = before["resourceVersion"];
  return Object.keys(changes).length === 0 ? object : withMetadata(object, changes);
}

/** Absent, or the same instant formatted differently. */
function isLeftAsItWas(sent: JsonValue | undefined, stored: JsonValue): boolean {
  if ((sent ?? "") === "") return true;
  if (sent === stored || typeof sent !== "string" || typeof stored !== "string") return false;
  const instant = parseInstant(stored);
  return instant !== undefined && parseInstant(sent) === instant;
}

/** Metadata first: a kind's rules rely on valid labels and names. */
function validate(change: Change, next: JsonObject, old: JsonObject): Validation {
  const { resource } = change;
  if (next["metadata"] !== old["metadata"]) {
    const causes = [...checkMetadata(next, resource.type, old), ...checkMetadataUpdate(next, old)];
    if (causes.length > 0) return { causes, warnings: [] };
  }
  switch (change.endpoint) {
    case "status":
      return resource.validateStatusUpdate(next, old);
    case "whole":
      // A definition's schema covers the whole object.
      return resource.custom ? resource.validateUpdate(next, old) : validatedTwice(resource, next, old);
    case "finalize":
      return { causes: [], warnings: [] };
    case "main":
    case "scale":
      return resource.validateUpdate(next, old);
  }
}

/** Built-in kinds have separate rules for their status. */
function validatedTwice(resource: ServedResource, next: JsonObject, old: JsonObject): Validation {
  const [main, status] = [resource.validateUpdate(next, old), resource.validateStatusUpdate(next, old)];
  return { causes: [...main.causes, ...status.causes], warnings: [...main.warnings, ...status.warnings] };
}

/** Removes an object whose last finalizer is gone. `pruner` is the kind that has pruned all of it. */
export function writeNext(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  key: StoreKey,
  next: JsonObject,
  pruner: ServedResource | undefined,
): Entry {
  const stored = resource.storage?.encode(next) ?? next;
  const done = isTerminating(next) && !isHeld(next) && (metaNumber(next, "deletionGracePeriodSeconds") ?? 0) === 0;
  const entry = done ? transaction.remove(key, stored) : transaction.put(key, stored, pruner);
  checkSize(entry.bytes.length, context.limits.maxObjectBytes);
  return entry;
}

/** True while finalizers keep a deleted object. */
export const isHeld = (object: JsonObject): boolean =>
  finalizersOf(object).length > 0 || specFinalizers(object).length > 0;

/** PUT. Copies `body`, sharing what equals the stored object (`frozenCopy`). May throw or reject. */
export function updateObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string; readonly endpoint: Endpoint },
  body: unknown,
  request: WriteRequest & Pick<Change, "isLong">,
): Promise<Answer> {
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  const old = entry === undefined ? undefined : viewOf(resource, entry);
  const own = isJsonObject(body) ? frozenCopy(body, old) : body;
  const sent = expectName(inNamespace(namedKind(own, resource), resource, target.namespace), target.name);
  const known = entry === undefined ? undefined : prunedBefore(resource, entry);
  const admitted = admit(sent, resource, request, known);
  const { isLong = false } = request;
  return changeObject(context, { ...target, resource, request, replaces: true, isLong, compute: () => admitted });
}
