import { atOnce, deepFreeze, formatTime, inTurns, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { alreadyExists, badRequest, generatedName, invalid, type StatusCause } from "#kernel/model/index.ts";
import type { Manager } from "../apply/managers.ts";
import { soleWriter, withWriters } from "../authz/acts-for.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreKey, Transaction } from "../store/store.ts";
import { checkAccount, withAccountAccess, withPullSecrets } from "./account-access.ts";
import { addDefaultAccount } from "./add-object.ts";
import {
  type Admitted,
  admit,
  checkSize,
  namedKind,
  inNamespace,
  refuseUnreadable,
  tidyMetadata,
} from "./admission.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { checkDefinition } from "./definition-rules.ts";
import { withFirstOwners, withManagers } from "./field-owners.ts";
import { withAllotment } from "./allotment.ts";
import { metadataOf, metaText, withMetadata } from "./metadata.ts";
import { checkMetadata } from "./metadata-rules.ts";
import { checkNamespace, isNamespace } from "./namespace-rules.ts";
import { isReviewed, type WriteRequest } from "./options.ts";
import { checkQuotas } from "./quota.ts";
import { keyFor } from "./storage-view.ts";

/** Of 27^5 suffixes; eight taken ones mean that the name is used up. */
const maxNameTries = 8;

/** `managers` are the owners of an object created by an apply. */
export interface CreateRequest extends WriteRequest {
  readonly managers?: readonly Manager[];
  /** For large objects: awaited between the parts of their checks, and before they are stored. */
  readonly pause?: () => Promise<void>;
}

/** Resolves when durable. Errors in Kubernetes' order: body (400), namespace (404, 403), account (403), 422, 409. */
export async function createObject(
  context: ApiContext,
  resource: ServedResource,
  namespace: string,
  body: unknown,
  request: CreateRequest,
): Promise<Answer> {
  const drafting = draftOf(context, resource, namespace, body, request);
  const draft = request.pause === undefined ? atOnce(drafting) : await inTurns(drafting, request.pause);
  const { first } = draft;
  const isDue = first.causes.length === 0 && isReviewed(resource, request);
  const found = isDue ? await resource.review?.(first.object) : undefined;
  if (found !== undefined && found.causes.length > 0)
    throw invalid(resource.type, metaText(first.object, "name"), found.causes);
  const answer = await context.store.write((transaction) => storeDraft(context, transaction, draft));
  return found === undefined ? answer : { ...answer, warnings: [...answer.warnings, ...found.warnings] };
}

/** Creates several objects of a kind in one transaction: all or, when one is refused, none. */
export async function createObjects(
  context: ApiContext,
  resource: ServedResource,
  bodies: readonly { readonly namespace: string; readonly body: unknown }[],
  request: CreateRequest,
): Promise<readonly Answer[]> {
  const drafts = bodies.map(({ namespace, body }) => atOnce(draftOf(context, resource, namespace, body, request)));
  return context.store.write((transaction) => drafts.map((draft) => storeDraft(context, transaction, draft)));
}

interface Draft {
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly request: CreateRequest;
  readonly first: Built;
  readonly renamed: (() => Built) | undefined;
}

/** Prepares everything that needs no look at the store, at once or with turns for others in between. */
function* draftOf(
  context: ApiContext,
  resource: ServedResource,
  namespace: string,
  body: unknown,
  request: CreateRequest,
): Generator<undefined, Draft> {
  const whole = inNamespace(namedKind(body, resource), resource, namespace);
  const { managedFields } = metadataOf(whole);
  const sent = tidyMetadata(whole);
  const owned = (built: Built): Built => withOwners(context, resource, built, request, managedFields);
  // Kubernetes treats 0 as none.
  if (!["", "0"].includes(metaText(sent, "resourceVersion"))) {
    throw badRequest("resourceVersion must not be set on an object to be created");
  }
  // One uid for all tries at a name.
  const birth = { uid: context.newUid(), creationTimestamp: formatTime(context.clock.now()) };
  if (request.duplicateFields === undefined && resource.isPlain?.(sent) === true) {
    const first = { object: withMetadata(sent, birth), causes: [], warnings: resource.warnings };
    return { resource, namespace, request, first: owned(first), renamed: undefined };
  }
  const admitted = admit(sent, resource, request);
  yield;
  // Only a missing name is generated; an invalid one is refused.
  const { name: sentName = "" } = metadataOf(sent);
  const generateName = sentName === "" ? metaText(sent, "generateName") : "";
  const named = () => (generateName === "" ? birth : { ...birth, name: generatedName(generateName, context.random) });
  const build = () => buildObject(resource, admitted, named(), request);
  const built = yield* build();
  yield;
  const first = owned(built);
  yield;
  const renamed = generateName === "" ? undefined : () => owned(atOnce(build()));
  return { resource, namespace, request, first, renamed };
}

function storeDraft(context: ApiContext, transaction: Transaction, draft: Draft): Answer {
  const { resource, namespace, request, first, renamed } = draft;
  checkDefinition(transaction, resource);
  checkNamespace(transaction, resource, namespace, metaText(first.object, "name"));
  checkAccount(transaction, resource, first.object);
  if (first.causes.length > 0) throw invalid(resource.type, metaText(first.object, "name"), first.causes);
  request.permit?.(first.object, undefined);
  // Only the name is generated again.
  let built = first;
  let key = keyOfNew(resource, built);
  for (let tries = 1; transaction.head(key) !== undefined; tries++) {
    if (renamed === undefined || tries === maxNameTries)
      throw alreadyExists(resource.type, metaText(built.object, "name"));
    built = renamed();
    key = keyOfNew(resource, built);
  }
  checkQuotas(transaction, resource, built.object);
  const allotted = withAllotment(context, transaction, resource, built.object, key);
  const object = withPullSecrets(transaction, resource, withAccountAccess(context, transaction, resource, allotted));
  const given = object === built.object ? built : { ...built, object };
  const answer = store(context, transaction, key, given, { resource, request });
  if (isNamespace(resource) && request.dryRun !== true)
    addDefaultAccount(context, transaction, metaText(given.object, "name"));
  return answer;
}

/** An object as it would be stored, or its errors, which are thrown later: a missing namespace is reported first. */
interface Built extends Admitted {
  readonly causes: readonly StatusCause[];
}

/** Stamps, defaults, prepares and validates, in this order. Throws 400 for a body that does not fit the kind. */
function* buildObject(
  resource: ServedResource,
  admitted: Admitted,
  birth: JsonObject,
  request: CreateRequest,
): Generator<undefined, Built> {
  const built = yield* judgedObject(resource, admitted, birth, request);
  if (built.causes.length > 0) refuseUnreadable(admitted.object, resource);
  return built;
}

function* judgedObject(
  resource: ServedResource,
  admitted: Admitted,
  birth: JsonObject,
  { writers, pause }: CreateRequest,
): Generator<undefined, Built> {
  const stamped = withMetadata(admitted.object, {
    ...birth,
    generation: resource.hasGeneration ? 1 : undefined,
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
  });
  // The functions of a kind rely on valid metadata.
  const metadataCauses = checkMetadata(stamped, resource.type);
  if (metadataCauses.length > 0) return { object: stamped, causes: metadataCauses, warnings: [] };
  const prepared = resource.prepareForCreate(resource.withDefaults(stamped), soleWriter(writers));
  const object = withWriters(resource, prepared, undefined, { writers, replaces: true });
  yield;
  if (pause !== undefined) yield* resource.ahead?.(object) ?? [];
  const found = resource.validateCreate(object);
  return {
    object,
    causes: found.causes,
    warnings: [...resource.warnings, ...admitted.warnings, ...found.warnings],
  };
}

/** The object with its owners, unless it is refused anyway. */
function withOwners(
  context: ApiContext,
  resource: ServedResource,
  built: Built,
  request: CreateRequest,
  requested: JsonValue | undefined,
): Built {
  if (built.causes.length > 0) return built;
  const { object } = built;
  const { managers } = request;
  const owned =
    managers === undefined
      ? withFirstOwners(context, resource, object, request, requested)
      : withManagers(object, managers);
  return owned === object ? built : { ...built, object: owned };
}

const keyOfNew = (resource: ServedResource, { object }: Built): StoreKey =>
  keyFor(resource, metaText(object, "namespace"), metaText(object, "name"));

/** The size is known when the bytes are made; a refusal then rolls the write back. */
function store(
  context: ApiContext,
  transaction: Transaction,
  key: StoreKey,
  { object, warnings }: Built,
  { resource, request }: Pick<Draft, "resource" | "request">,
): Answer {
  if (request.dryRun === true) return { resource, warnings, draft: deepFreeze(object) };
  const entry = transaction.put(key, resource.storage?.encode(object) ?? object, resource);
  checkSize(entry.bytes.length, context.limits.maxObjectBytes);
  return { resource, warnings, entry };
}
