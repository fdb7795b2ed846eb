import { formatTime, type Instant, jsonEquals } from "#lib/base/index.ts";
import {
  apiVersionOf,
  badRequest,
  conflict,
  invalid,
  invalidValue,
  type KubeObject,
  type ObjectMeta,
  type ResourceType,
  type StatusCause,
  splitApiVersion,
  type Stored,
  subdomainRule,
} from "#kernel/model/index.ts";

// What a Kubernetes API does to an object between the request and the store, as pure functions. No schemas, no defaults.

const withoutGeneration = new Set(["ConfigMap", "Secret", "ServiceAccount", "Event", "Lease", "Pod"]);
const conditionalUpdateOnly = new Set(["Lease", "CustomResourceDefinition"]);

/** Groups of Kubernetes itself: none, `batch`, `apps`, `…k8s.io`. Everything else is a custom kind. */
export const isBuiltIn = (type: ResourceType): boolean =>
  !type.group.includes(".") || type.group.endsWith(".k8s.io") || type.group === "k8s.io";

/** Checks of the request itself, before anything stored is looked at. */
export function checkEnvelope(type: ResourceType, object: KubeObject): void {
  const expected = apiVersionOf(type);
  if (object.apiVersion !== expected || object.kind !== type.kind) {
    throw badRequest(`expected ${expected} ${type.kind}, found ${object.apiVersion} ${object.kind}`);
  }
  const { namespace } = object.metadata;
  if (type.namespaced && (namespace === undefined || namespace === "")) {
    throw badRequest(`metadata.namespace is required: ${type.plural} are namespaced`);
  }
  if (!type.namespaced && namespace !== undefined && namespace !== "") {
    throw badRequest(`metadata.namespace is not allowed: ${type.plural} are not namespaced`);
  }
}

/** A kind that declares none has its status, if any, in the object. */
const hasStatusApart = (type: ResourceType): boolean => !("hasStatus" in type && type.hasStatus === false);

/** Server-owned metadata of a new object; `name` is already chosen. A status subresource is dropped. */
export function preparedForCreate(
  type: ResourceType,
  object: KubeObject,
  given: { readonly name: string; readonly uid: string; readonly now: Instant },
): Stored {
  checkName(type, given.name);
  const { status, ...rest } = object;
  const { deletionTimestamp: _a, deletionGracePeriodSeconds: _b, generation: _c, ...metadata } = object.metadata;
  return {
    ...rest,
    ...(status === undefined || hasStatusApart(type) ? {} : { status }),
    metadata: {
      ...metadata,
      name: given.name,
      uid: given.uid,
      resourceVersion: "0",
      creationTimestamp: formatTime(given.now),
      ...(withoutGeneration.has(type.kind) ? {} : { generation: 1 }),
    },
  };
}

function checkName(type: ResourceType, name: string): void {
  const problem = subdomainRule(name);
  if (problem !== undefined) throw invalid(type, name, [invalidValue("metadata.name", name, problem)]);
}

export interface UpdateRules {
  readonly subresource?: "status";
  /** PUT of a custom kind must carry a resourceVersion; a patch need not. */
  readonly requireVersion: boolean;
}

/** The next state of `current`, or `current` itself when nothing changes. Throws what a server refuses. */
export function preparedForUpdate(type: ResourceType, current: Stored, wanted: KubeObject, rules: UpdateRules): Stored {
  checkPreconditions(type, current, wanted.metadata, rules.requireVersion);
  const next = rules.subresource === "status" ? withStatusOf(current, wanted) : withoutStatusOf(type, current, wanted);
  if (jsonEquals(next, current)) return current;
  if (rules.subresource !== undefined || withoutGeneration.has(type.kind) || sameContent(next, current)) return next;
  return { ...next, metadata: { ...next.metadata, generation: (current.metadata.generation ?? 0) + 1 } };
}

function checkPreconditions(type: ResourceType, current: Stored, wanted: ObjectMeta, requireVersion: boolean): void {
  const { name, uid, resourceVersion } = current.metadata;
  if (wanted.uid !== undefined && wanted.uid !== "" && wanted.uid !== uid) {
    throw conflict(type, name, `its uid is ${uid}, not ${wanted.uid}`);
  }
  if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== "") {
    if (wanted.resourceVersion !== resourceVersion) {
      throw conflict(type, name, `it was changed by somebody else; its resourceVersion is ${resourceVersion}`);
    }
  } else if (requireVersion && (!isBuiltIn(type) || conditionalUpdateOnly.has(type.kind))) {
    const message = "must be specified for an update";
    throw invalid(type, name, [{ reason: "FieldValueInvalid", field: "metadata.resourceVersion", message }]);
  }
}

function withStatusOf(current: Stored, wanted: KubeObject): Stored {
  const { status: _replaced, ...rest } = current;
  return wanted.status === undefined ? rest : { ...rest, status: wanted.status };
}

function withoutStatusOf(type: ResourceType, current: Stored, wanted: KubeObject): Stored {
  checkFinalizers(current, wanted);
  const { status: sent, ...rest } = wanted;
  const status = hasStatusApart(type) ? current.status : sent;
  const metadata: Record<string, unknown> = { ...wanted.metadata };
  for (const field of serverOwned) {
    if (current.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = current.metadata[field];
  }
  const { name, uid, resourceVersion, creationTimestamp } = current.metadata;
  return {
    ...rest,
    metadata: { ...metadata, name, uid, resourceVersion, creationTimestamp },
    ...(status === undefined ? {} : { status }),
  };
}

const serverOwned = ["namespace", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;

function checkFinalizers(current: Stored, wanted: KubeObject): void {
  if (current.metadata.deletionTimestamp === undefined) return;
  const before = new Set(current.metadata.finalizers);
  const added = (wanted.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return;
  const message = `no finalizer may be added while the object is being deleted, found ${JSON.stringify(added)}`;
  const cause: StatusCause = { reason: "FieldValueForbidden", field: "metadata.finalizers", message };
  const { apiVersion, kind, metadata } = current;
  throw invalid({ ...splitApiVersion(apiVersion), kind, plural: kind }, metadata.name, [cause]);
}

/** Equal outside metadata and status. */
function sameContent(a: KubeObject, b: KubeObject): boolean {
  const strip = ({ metadata: _m, status: _s, ...rest }: KubeObject): unknown => rest;
  return jsonEquals(strip(a), strip(b));
}

/** May a terminating object go now? */
export const isReadyToGo = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** The state of an object whose deletion has begun. A later deletion may only shorten the grace period. */
export function terminating(current: Stored, now: Instant, graceSeconds: number): Stored {
  const { metadata } = current;
  const before = metadata.deletionTimestamp === undefined ? Infinity : (metadata.deletionGracePeriodSeconds ?? 0);
  if (graceSeconds >= before) return current;
  return {
    ...current,
    metadata: {
      ...metadata,
      deletionTimestamp: formatTime(now + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation + 1 }),
    },
  };
}
