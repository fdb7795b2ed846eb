import { refTo } from "../client/request-path.ts";
import { type Clock, isJsonObject, type JsonObject, recover, retry, SlipwayError } from "#lib/base/index.ts";
import { createMergePatch } from "#lib/json/index.ts";
import {
  asJson,
  ConfigMap,
  controllerOf,
  controllerReference,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeObject,
  type OwnerReference,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { ApiClient, DeleteOptions, Ref, WriteOptions } from "../client/api-client.ts";
import { semanticEquals } from "./semantic-equal.ts";

/** Conflicts if the object is not the newest. */
export function addFinalizer<T extends KubeObject>(
  client: ApiClient,
  type: ResourceType,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T>> {
  const present = object.metadata.finalizers ?? [];
  if (present.includes(finalizer)) return Promise.resolve(object);
  return patchFinalizers<T>(client, type, object, [...present, finalizer]);
}

/** May remove a terminating object. Returns an object that is gone as it was. Conflicts with a newer version. */
export async function removeFinalizer<T extends KubeObject>(
  client: ApiClient,
  type: ResourceType,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T>> {
  const present = object.metadata.finalizers ?? [];
  if (!present.includes(finalizer)) return object;
  try {
    const rest = present.filter((other) => other !== finalizer);
    return await patchFinalizers<T>(client, type, object, rest);
  } catch (thrown) {
    if (isNotFound(thrown)) return object;
    throw thrown;
  }
}

function patchFinalizers<T extends KubeObject>(
  client: ApiClient,
  type: ResourceType,
  object: Stored,
  finalizers: readonly string[],
): Promise<Stored<T>> {
  const { uid, resourceVersion } = object.metadata;
  // A merge patch replaces the whole list, so it is bound to the version that was read.
  const body = { metadata: { uid, resourceVersion, finalizers } };
  return client.patch<T>(refTo(type, object), { type: "merge", body });
}

/** The object with `owner` as its controller. Throws if another object controls it. */
export function withController<T extends KubeObject>(object: T, owner: Stored): T {
  const present = controllerOf(object);
  if (present?.uid === owner.metadata.uid) return object;
  if (present !== undefined) {
    const { kind, metadata } = object;
    throw new SlipwayError(
      "already-controlled",
      `${kind} "${metadata.name ?? metadata.generateName ?? ""}" is controlled by ${present.kind} "${present.name}", not by ${owner.kind} "${owner.metadata.name}"`,
    );
  }
  const ownerReferences = [...(object.metadata.ownerReferences ?? []), controllerReference(owner)];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

/** Creates `change(undefined)` or updates to `change(present)`, up to five times on conflicts. `change` is pure. */
export async function createOrUpdate<T extends KubeObject>(
  client: ApiClient,
  ref: Ref,
  change: (present: Stored<T> | undefined) => T,
  options: WriteOptions & { readonly clock: Clock },
): Promise<{ readonly object: Stored<T>; readonly outcome: "created" | "updated" | "unchanged" }> {
  return retryOnConflict(options, async () => {
    const present = await getOrUndefined<T>(client, ref, options.signal);
    if (present === undefined) {
      return { object: await client.create<T>(ref.type, change(undefined), options), outcome: "created" as const };
    }
    const wanted = change(present);
    if (semanticEquals(asJson(wanted), asJson(present))) return { object: present, outcome: "unchanged" as const };
    return { object: await client.update<T>(ref.type, wanted, options), outcome: "updated" as const };
  });
}

export async function getOrUndefined<T extends KubeObject = KubeObject>(
  client: ApiClient,
  ref: Ref,
  signal?: AbortSignal,
): Promise<Stored<T> | undefined> {
  return await client.get<T>(ref, signal === undefined ? {} : { signal }).catch(recover(isNotFound, undefined));
}

/** Deletes this very object, bound to its uid. An object that is gone or was replaced is no failure. */
export async function ensureDeleted(
  client: ApiClient,
  type: ResourceType,
  object: Stored,
  options: DeleteOptions = {},
): Promise<void> {
  const preconditions = { uid: object.metadata.uid, ...options.preconditions };
  try {
    await client.delete(refTo(type, object), { ...options, preconditions });
  } catch (thrown) {
    if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
  }
}

/** Makes `owner` the controller of an object without one. Conflicts if the object is not the newest. */
export function adopt(client: ApiClient, type: ResourceType, object: Stored, owner: Stored): Promise<void> {
  return patchOwners(client, type, object, [...(object.metadata.ownerReferences ?? []), controllerReference(owner)]);
}

/** Removes `owner` from the owners of an object. Conflicts if it is not the newest. */
export function orphan(client: ApiClient, type: ResourceType, object: Stored, owner: Stored): Promise<void> {
  const owners = object.metadata.ownerReferences ?? [];
  return patchOwners(
    client,
    type,
    object,
    owners.filter(({ uid }) => uid !== owner.metadata.uid),
  );
}

/** Bound to the version whose list was read. */
async function patchOwners(
  client: ApiClient,
  type: ResourceType,
  object: Stored,
  owners: readonly OwnerReference[],
): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  const ownerReferences = owners.map((owner) => ({ ...owner }));
  try {
    await client.patch(refTo(type, object), {
      type: "merge",
      body: { metadata: { uid, resourceVersion, ownerReferences } },
    });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
}

/** Runs `run` up to five times, with pauses of 10, 20, 40 and 80 ms after conflicts. `run` must read anew each time. */
export const retryOnConflict = <R>(
  { clock, signal, tries = 5 }: { readonly clock: Clock; readonly signal?: AbortSignal; readonly tries?: number },
  run: () => Promise<R>,
): Promise<R> =>
  // An object that another client has created meanwhile is found by reading anew.
  retry(
    { clock, signal, tries, first: 10, isRetryable: (thrown) => isConflict(thrown) || isAlreadyExists(thrown) },
    run,
  );

/** Patches the status's difference, bound to the version that was read; returns the same object without one. */
export async function patchStatus<T extends KubeObject>(
  client: ApiClient,
  type: ResourceType,
  before: Stored<T>,
  status: unknown,
): Promise<Stored<T>> {
  const old = statusOf(before);
  const change = isJsonObject(status) ? createMergePatch(old, status) : undefined;
  if (change === undefined) return before;
  const { uid, resourceVersion } = before.metadata;
  const body = { metadata: { uid, resourceVersion }, status: change };
  return client.patch<T>(refTo(type, before), { type: "merge", body }, { subresource: "status" });
}

function statusOf(object: KubeObject): JsonObject {
  const { status } = asJson(object);
  return isJsonObject(status) ? status : {};
}

/** Creates a child under its deterministic name, unless `present` (controlled by `owner`) or `foreign`. Repeatable. */
export async function ensureChild<T extends KubeObject>(
  client: Pick<ApiClient, "create" | "get">,
  type: ResourceType,
  child: T,
  owner: Stored,
  options: WriteOptions = {},
): Promise<{ readonly object: Stored<T>; readonly outcome: "created" | "present" | "foreign" }> {
  try {
    return { object: await client.create<T>(type, withController(child, owner), options), outcome: "created" };
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
    const object = await client.get<T>(refTo(type, child), options);
    return { object, outcome: controllerOf(object)?.uid === owner.metadata.uid ? "present" : "foreign" };
  }
}

/** A ConfigMap beside its owner, which goes with it; other members of an earlier one are kept. */
export async function writeOwnedConfigMap(
  client: ApiClient,
  owner: Stored,
  { name, data }: { readonly name: string; readonly data: Readonly<Record<string, string>> },
  options: WriteOptions & { readonly clock: Clock },
): Promise<void> {
  const { namespace = "default" } = owner.metadata;
  const change = (present: KubeObject | undefined): KubeObject & { readonly data: typeof data } => ({
    ...present,
    apiVersion: "v1",
    kind: ConfigMap.kind,
    metadata: { ...present?.metadata, name, namespace, ownerReferences: [controllerReference(owner)] },
    data,
  });
  await createOrUpdate<KubeObject>(client, { type: ConfigMap, namespace, name }, change, options);
}
