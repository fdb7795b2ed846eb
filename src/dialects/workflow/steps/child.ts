import { messageOf, type Millis, type Result } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import { type ApiClient, ensureChild, ensureDeleted, type Lister, refTo } from "#kernel/kit/index.ts";
import {
  ApiError,
  apiVersionOf,
  controllerOf,
  controllerReference,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeObject,
  keyOf,
  type ResourceType,
  type Stored,
  writersOf,
} from "#kernel/model/index.ts";
import { cacheKeyAnnotation, cacheKeyOf } from "../cache/key.ts";
import { type ChildId, childLabels } from "../child-names.ts";
import { type Reference, Workflow } from "../kinds.ts";
import { isLetLive } from "../compile/step-source.ts";
import type { Attempt, Finding } from "./executor.ts";

// What executors that create one object per attempt have in common.

/** Who speaks to the API for a step: the controller itself, and for what the document says whoever wrote it. */
export interface StepClients {
  readonly client: ApiClient;
  readonly clientFor: (workflow: Stored<Workflow>) => ApiClient;
}

/** A kind of child: how it is addressed, and the mirror it is observed in, which may lag behind what was written. */
export interface ChildKind {
  readonly type: ResourceType;
  readonly children: Lister;
}

/** The labels of the attempt's child: those of `spec.selector`, then ours, which win. */
export const labelsOf = (attempt: Attempt): Readonly<Record<string, string>> => ({
  ...attempt.compiled.selector,
  ...childLabels(childOf(attempt)),
});

/** What the child of an attempt is called after. */
export const childOf = ({ workflow, step, number, item, iteration }: Attempt): ChildId => ({
  workflow: workflow.metadata.name,
  uid: workflow.metadata.uid,
  step: step.key,
  attempt: number,
  ...(item === undefined ? {} : { item: item.index }),
  ...(iteration === undefined ? {} : { iteration }),
});

/** Independent children have no owner and are recognised by their labels alone; an applied object has neither, unless told. */
export const isIndependent = ({ step }: Attempt): boolean => isLetLive(step.step);

/** All of them: uid, step and attempt name exactly one child. */
const carriesLabels = (attempt: Attempt, object: KubeObject): boolean =>
  Object.entries(labelsOf(attempt)).every(([name, value]) => object.metadata.labels?.[name] === value);

/** Whether the object is the child of this attempt, and not of another one or of somebody else. */
export function isChild(attempt: Attempt, object: KubeObject): boolean {
  if (isIndependent(attempt)) return carriesLabels(attempt, object);
  return controllerOf(object)?.uid === attempt.workflow.metadata.uid && carriesLabels(attempt, object);
}

/** Trying again would be refused again, unless told. */
export const failed = (reason: string, message: string, retryable = false): Finding => ({
  is: "child",
  state: { is: "failed", reason, message, retryable },
});

/**
 * Creates the child of an attempt, or finds that it was created before: the name follows from the attempt, so that a
 * crash between creating and telling leaves nothing double. A refusal that would be repeated fails the step, one for
 * quota waits, everything that may pass by itself is thrown.
 *
 * | Answer | Finding |
 * | --- | --- |
 * | created, or there already and ours | alive |
 * | there already, not ours | failed `NameConflict` |
 * | 400, 422, 413, 405 | failed `InvalidTemplate`, in the server's words |
 * | 403 `exceeded quota` | refused `Quota`: tried again, no attempt is lost |
 * | other 403 | failed `Forbidden` |
 * | everything else | thrown: tried again with backoff |
 */
export async function createChild(
  clients: StepClients,
  type: ResourceType,
  manifest: Result<KubeObject, string>,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (!manifest.ok) return failed("ExpressionError", manifest.error);
  const noted = withCacheKey(manifest.value, attempt);
  try {
    const object = await create(clients, type, noted, attempt, signal);
    if (object !== undefined) return { is: "child", state: { is: "alive" }, reference: referenceOf(object) };
    const { kind, metadata } = manifest.value;
    return failed("NameConflict", `a ${kind} "${metadata.name ?? ""}" that is not of this workflow is in the way`);
  } catch (thrown) {
    return refusal(thrown);
  }
}

/**
 * What the child is created with names its result, which is stored under no other name: until its end labels of the workflow may change,
 * and with them what its expressions say.
 */
function withCacheKey(manifest: KubeObject, attempt: Attempt): KubeObject {
  const key = cacheKeyOf(attempt);
  if (!key.ok || key.value === undefined) return manifest;
  const { metadata } = manifest;
  const annotations = { ...metadata.annotations, [cacheKeyAnnotation]: key.value.name };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** The child, made or found; undefined when something else has its name. */
async function create(
  { client: own, clientFor }: StepClients,
  type: ResourceType,
  manifest: KubeObject,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  // To find what is there already is the controller's own affair: a writer may have no right to read.
  const acting = clientFor(attempt.workflow);
  const client: Pick<ApiClient, "create" | "get"> = {
    create: (...given) => acting.create(...given),
    get: (...given) => own.get(...given),
  };
  if (isIndependent(attempt)) {
    const found = await createAlone(client, type, manifest, signal);
    return isChild(attempt, found) ? found : undefined;
  }
  const { object, outcome } = await ensureChild(client, type, manifest, attempt.workflow, { signal });
  if (outcome === "created" || isChild(attempt, object)) return object;
  const isFree = controllerOf(object) === undefined && carriesLabels(attempt, object);
  return isFree ? adopt(own, type, object, attempt) : undefined;
}

async function createAlone(
  client: Pick<ApiClient, "create" | "get">,
  type: ResourceType,
  manifest: KubeObject,
  signal: AbortSignal,
): Promise<Stored> {
  try {
    return await client.create(type, manifest, { signal });
  } catch (thrown) {
    if (!(thrown instanceof ApiError && thrown.reason === "AlreadyExists")) throw thrown;
    return await client.get(refTo(type, manifest), { signal });
  }
}

/**
 * Takes an object that bears the child's name and labels and has no controller, such as one restored from a backup.
 * The uid in the patch makes sure that it is still that object.
 */
function adopt(client: ApiClient, type: ResourceType, object: Stored, { workflow }: Attempt): Promise<Stored> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const owners = [...ownerReferences, controllerReference(workflow)].map((owner) => ({ ...owner }));
  const body = { metadata: { uid, resourceVersion, ownerReferences: owners } };
  return client.patch(refTo(type, object), { type: "merge", body });
}

/** What a refused write means for the step. What may pass by itself is thrown again. */
export function refusal(thrown: unknown): Finding {
  if (isInvalid(thrown)) return failed("InvalidTemplate", messageOf(thrown));
  if (isForbidden(thrown)) {
    const message = messageOf(thrown);
    return message.includes("exceeded quota")
      ? { is: "refused", reason: "Quota", message }
      : failed("Forbidden", message);
  }
  if (thrown instanceof ApiError && unservable.has(thrown.reason)) return failed("InvalidTemplate", messageOf(thrown));
  throw thrown;
}

/** Too large, or of a kind whose server does not do this: it would be refused again. */
const unservable: ReadonlySet<string> = new Set(["RequestEntityTooLarge", "MethodNotAllowed", "UnsupportedMediaType"]);

/** The key of the attempt's object in a mirror of its kind. It is in the workflow's namespace, if in any. */
export function keyIn({ namespaced }: ResourceType, { workflow, reference }: Attempt): string {
  const { namespace } = workflow.metadata;
  return keyOf({ name: reference?.name ?? "", ...(namespaced && namespace !== undefined ? { namespace } : {}) });
}

/** Whatever has the name of the attempt's object, if a mirror shows it. */
export const objectIn = ({ type, children }: ChildKind, attempt: Attempt): Stored | undefined =>
  children.get(keyIn(type, attempt));

/** The child of an attempt, if a mirror shows it and it is still ours. */
export function childIn(kind: ChildKind, attempt: Attempt): Stored | undefined {
  const object = objectIn(kind, attempt);
  return object === undefined || !isChild(attempt, object) ? undefined : object;
}

/**
 * How a child stands. `outcomeOf` is asked for a child that exists. Undefined before the child was seen; gone when it
 * was there and is not, or is not ours any more: whoever removed the owner reference by hand took the child away.
 */
export async function observeChild(
  client: Pick<ApiClient, "get">,
  kind: ChildKind,
  attempt: Attempt,
  signal: AbortSignal,
  outcomeOf: (object: Stored) => Promise<ChildState>,
): Promise<Finding | undefined> {
  const { phase } = attempt;
  const object = childIn(kind, attempt);
  if (object === undefined) {
    // Before it was seen, a missing child has simply not been created yet: the intent still owes it.
    if (phase === "Starting" || (await isYetToBeShown(client, kind, attempt, signal))) return undefined;
    return { is: "child", state: { is: "gone" } };
  }
  const state = await outcomeOf(object);
  // An Independent object outlives the cancel of its step; the step lets it go.
  const released = phase === "Cancelling" && state.is === "alive" && isIndependent(attempt);
  const cacheKey = object.metadata.annotations?.[cacheKeyAnnotation];
  return {
    is: "child",
    state: released ? { is: "gone" } : state,
    reference: referenceOf(object),
    ...(cacheKey === undefined ? {} : { cacheKey }),
    ...(isWorkflow(kind.type) ? { writers: writersOf(object) } : {}),
  };
}

/** What other kinds have in the place of the note is anybody's. */
const isWorkflow = ({ group, kind }: ResourceType): boolean => group === Workflow.group && kind === Workflow.kind;

/**
 * Whether there is a child that the mirror lacks. What another controller has created is in the workflow's status before this one's
 * mirror of the children need show it. One request, for a child that seems to be gone and was not asked to end; the mirror's news of
 * it ask for the next pass.
 */
async function isYetToBeShown(
  client: Pick<ApiClient, "get">,
  kind: ChildKind,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  const { phase, reference, workflow } = attempt;
  if (phase === "Cancelling" || reference?.name === undefined || objectIn(kind, attempt) !== undefined) return false;
  const { namespace } = workflow.metadata;
  const place = kind.type.namespaced && namespace !== undefined ? { namespace } : {};
  try {
    return isChild(attempt, await client.get({ type: kind.type, name: reference.name, ...place }, { signal }));
  } catch (thrown) {
    if (isNotFound(thrown)) return false;
    throw thrown;
  }
}

/**
 * Deletes the child of an attempt, in the background, with the grace told; one that is gone already, is being deleted
 * or is Independent is left alone. The uid keeps a later object of the name alive.
 */
export async function deleteChild(
  client: ApiClient,
  kind: ChildKind,
  attempt: Attempt,
  graceMs: Millis,
  signal: AbortSignal,
): Promise<void> {
  if (isIndependent(attempt)) return;
  const object = childIn(kind, attempt);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
  const gracePeriodSeconds = Math.ceil(graceMs / 1000);
  await ensureDeleted(client, kind.type, object, { propagationPolicy: "Background", gracePeriodSeconds, signal });
}

/**
 * The reference to an object as a status keeps it: without its resourceVersion, which would change all the time, and without
 * the namespace, which is the workflow's own.
 */
export const referenceOf = ({ apiVersion, kind, metadata: { name, uid } }: Stored): Reference => ({
  apiVersion,
  kind,
  name,
  uid,
});

/** The reference to an object that does not exist yet. */
export const plannedReference = (type: ResourceType, name: string): Reference => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  name,
});
