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

// Shared by executors that create one object per attempt.

/** The controller's client, and one with the rights of the workflow's writer for what the document says. */
export interface StepClients {
  readonly client: ApiClient;
  readonly clientFor: (workflow: Stored<Workflow>) => ApiClient;
}

/** How to address the kind, and a mirror, which may be stale. */
export interface ChildKind {
  readonly type: ResourceType;
  readonly children: Lister;
}

/** Labels of `spec.selector`, then Slipway's, which win. */
export const labelsOf = (attempt: Attempt): Readonly<Record<string, string>> => ({
  ...attempt.compiled.selector,
  ...childLabels(childOf(attempt)),
});

export const childOf = ({ workflow, step, number, item, iteration }: Attempt): ChildId => ({
  workflow: workflow.metadata.name,
  uid: workflow.metadata.uid,
  step: step.key,
  attempt: number,
  ...(item === undefined ? {} : { item: item.index }),
  ...(iteration === undefined ? {} : { iteration }),
});

/** Independent children have no owner and are recognised by labels; applied objects have neither by default. */
export const isIndependent = ({ step }: Attempt): boolean => isLetLive(step.step);

/** Uid, step and attempt identify a child. */
const carriesLabels = (attempt: Attempt, object: KubeObject): boolean =>
  Object.entries(labelsOf(attempt)).every(([name, value]) => object.metadata.labels?.[name] === value);

export function isChild(attempt: Attempt, object: KubeObject): boolean {
  if (isIndependent(attempt)) return carriesLabels(attempt, object);
  return controllerOf(object)?.uid === attempt.workflow.metadata.uid && carriesLabels(attempt, object);
}

/** By default a retry would fail again. */
export const failed = (reason: string, message: string, retryable = false): Finding => ({
  is: "child",
  state: { is: "failed", reason, message, retryable },
});

/**
 * Creates the child of an attempt, or finds it: the name follows from the attempt, so a crash causes no second one.
 * Findings: alive if created or found; `NameConflict` for a foreign object; `InvalidTemplate` for 400, 405, 413, 422;
 * refused `Quota`, which costs no attempt; `Forbidden` for other 403. Everything else is thrown and retried.
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

/** The cache key is fixed at creation, because labels and so expressions may change while the step runs. */
function withCacheKey(manifest: KubeObject, attempt: Attempt): KubeObject {
  const key = cacheKeyOf(attempt);
  if (!key.ok || key.value === undefined) return manifest;
  const { metadata } = manifest;
  const annotations = { ...metadata.annotations, [cacheKeyAnnotation]: key.value.name };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** The created or found child; undefined if a foreign object has the name. */
async function create(
  { client: own, clientFor }: StepClients,
  type: ResourceType,
  manifest: KubeObject,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  // The controller reads with its own rights, because the writer may lack the right to read.
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

/** Adopts an uncontrolled object with the child's name and labels, such as one restored from a backup. */
function adopt(client: ApiClient, type: ResourceType, object: Stored, { workflow }: Attempt): Promise<Stored> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const owners = [...ownerReferences, controllerReference(workflow)].map((owner) => ({ ...owner }));
  const body = { metadata: { uid, resourceVersion, ownerReferences: owners } };
  return client.patch(refTo(type, object), { type: "merge", body });
}

/** Finding for a refused write. Temporary errors are thrown again. */
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

const unservable: ReadonlySet<string> = new Set(["RequestEntityTooLarge", "MethodNotAllowed", "UnsupportedMediaType"]);

export function keyIn({ namespaced }: ResourceType, { workflow, reference }: Attempt): string {
  const { namespace } = workflow.metadata;
  return keyOf({ name: reference?.name ?? "", ...(namespaced && namespace !== undefined ? { namespace } : {}) });
}

export const objectIn = ({ type, children }: ChildKind, attempt: Attempt): Stored | undefined =>
  children.get(keyIn(type, attempt));

export function childIn(kind: ChildKind, attempt: Attempt): Stored | undefined {
  const object = objectIn(kind, attempt);
  return object === undefined || !isChild(attempt, object) ? undefined : object;
}

/** The state of a child. Undefined before it was seen; gone if missing or without its owner reference. */
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
    // Not created yet: the intent still owes it.
    if (phase === "Starting" || (await isYetToBeShown(client, kind, attempt, signal))) return undefined;
    return { is: "child", state: { is: "gone" } };
  }
  const state = await outcomeOf(object);
  // A cancelled step releases an Independent object.
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

const isWorkflow = ({ group, kind }: ResourceType): boolean => group === Workflow.group && kind === Workflow.kind;

/** Whether the mirror lacks the child: the workflow's status may be ahead of it. One request. */
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

/** Deletes the child with the given grace, bound to its uid. Ignores missing and Independent children. */
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

/** Without resourceVersion and namespace. */
export const referenceOf = ({ apiVersion, kind, metadata: { name, uid } }: Stored): Reference => ({
  apiVersion,
  kind,
  name,
  uid,
});

export const plannedReference = (type: ResourceType, name: string): Reference => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  name,
});
