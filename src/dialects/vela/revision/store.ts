import { jsonEquals, objectAt, type JsonObject, textAt } from "#lib/base/index.ts";
import { type ApiClient, patchStatus, refTo, retryOnConflict, secretData } from "#kernel/kit/index.ts";
import type { Clock } from "#lib/base/index.ts";
import {
  asJson,
  ConfigMap,
  controllerReference,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  type ResourceType,
  Secret,
  type Stored,
} from "#kernel/model/index.ts";
import { ApplicationRevision } from "../kinds.ts";
import { annotation, label, nameOf, selectorOf } from "../labels.ts";
import type { RenderedObject } from "../render/rendered.ts";
import type { RevisionChoice } from "./decide.ts";
import { jsonHash } from "./hash.ts";
import { outdatedRevisions } from "./history.ts";
import { isStandIn, readRendered, renderedData } from "./rendered-resources.ts";
import { encodeSnapshot } from "./snapshot.ts";

/** The controller's own client: revisions and their data are its records. */
export interface RevisionParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function listRevisions(
  { client, signal }: RevisionParts,
  { metadata: { name, namespace = "" } }: { readonly metadata: Pick<Stored["metadata"], "name" | "namespace"> },
): Promise<readonly Stored[]> {
  const labelSelector = selectorOf({ name, namespace });
  const { items } = await client.list(ApplicationRevision, { namespace, labelSelector, signal });
  return items;
}

/** The stored revision; repeatable. */
export async function ensureRevision(
  { client, signal }: RevisionParts,
  application: Stored,
  choice: RevisionChoice,
  objects: readonly RenderedObject[],
): Promise<Stored> {
  if (choice.existing !== undefined) return choice.existing;
  const { name, namespace = "" } = application.metadata;
  const shards = Object.keys(renderedData(choice.name, objects).configMaps);
  const revision: KubeObject = {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "ApplicationRevision",
    metadata: {
      name: choice.name,
      namespace,
      labels: { [label.app]: name, [label.appNamespace]: namespace, [label.appRevisionHash]: choice.hash },
      ...(choice.publishVersion === undefined
        ? {}
        : { annotations: { [annotation.publishVersion]: choice.publishVersion } }),
      ownerReferences: [controllerReference(application)],
    },
    spec: {
      ...encodeSnapshot(choice.snapshot),
      resourcesConfigMap: { name: choice.name, ...(shards.length > 1 ? { shards } : {}) },
    },
  };
  try {
    return await client.create(ApplicationRevision, revision, { signal });
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
    const found = await client.get(refTo(ApplicationRevision, revision), { signal });
    if (found.metadata.labels?.[label.appRevisionHash] === choice.hash && isOwnedBy(found, application)) return found;
    throw new Error(`ApplicationRevision ${namespace}/${choice.name} already exists with different content`, {
      cause: thrown,
    });
  }
}

const isOwnedBy = (object: KubeObject, owner: Stored): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

/**
 * Writes ConfigMaps and Secrets of the rendered objects; repeatable, and unchanged ones are not written. Must succeed
 * before the first step runs: steps and other controllers rely on them.
 */
export async function writeRenderedResources(
  parts: RevisionParts,
  revision: Stored,
  objects: readonly RenderedObject[],
): Promise<void> {
  const { configMaps, secrets } = renderedData(revision.metadata.name, objects);
  for (const [name, data] of Object.entries(secrets))
    await writeData(parts, Secret, revision, name, { type: "Opaque", data: secretData(data) });
  // Secrets first: a reader of the ConfigMap follows its stand-ins.
  for (const [name, data] of Object.entries(configMaps)) await writeData(parts, ConfigMap, revision, name, { data });
  await dropData(parts, ConfigMap, revision, configMaps);
  await dropData(parts, Secret, revision, secrets);
  await noteDigest(parts, revision, jsonHash({ configMaps, secrets }));
}

/** In the status, which only controllers write: others may write ConfigMaps and Secrets. */
async function noteDigest({ client, signal }: RevisionParts, revision: Stored, digest: string): Promise<void> {
  const live = await client.get(refTo(ApplicationRevision, revision), { signal });
  const status = objectAt(asJson(live), "status");
  if (status?.["resourcesDigest"] === digest) return;
  await patchStatus(client, ApplicationRevision, live, { ...status, resourcesDigest: digest });
}

/** Removes parts that smaller objects do not need any more. */
async function dropData(
  { client, signal }: RevisionParts,
  type: ResourceType,
  revision: Stored,
  wanted: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const one of await listData(client, type, revision, signal)) {
    const { name, uid } = one.metadata;
    if (Object.hasOwn(wanted, name)) continue;
    await client.delete(refTo(type, one), { preconditions: { uid }, signal }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  }
}

async function listData(
  client: ApiClient,
  type: ResourceType,
  revision: Stored,
  signal: AbortSignal,
): Promise<readonly Stored[]> {
  const { namespace = "", name } = revision.metadata;
  const { items } = await client.list(type, { namespace, labelSelector: `${label.appRevision}=${name}`, signal });
  return items.filter((one) => isOwnedBy(one, revision));
}

async function writeData(
  { client, clock, signal }: RevisionParts,
  type: ResourceType,
  revision: Stored,
  name: string,
  content: JsonObject,
): Promise<void> {
  const { namespace = "", labels } = revision.metadata;
  const wanted: KubeObject = {
    ...content,
    apiVersion: "v1",
    kind: type.kind,
    metadata: {
      name,
      namespace,
      labels: { ...labels, [label.appRevision]: revision.metadata.name },
      ownerReferences: [controllerReference(revision)],
    },
  };
  await retryOnConflict({ clock, signal }, async () => {
    let live: Stored;
    try {
      live = await client.get(refTo(type, wanted), { signal });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
      return void (await client.create(type, wanted, { signal }));
    }
    if (!isOwnedBy(live, revision))
      throw new Error(`${type.kind} ${namespace}/${name} exists and is not of the revision`);
    if (jsonEquals(asJson(live)["data"], content["data"])) return;
    const { resourceVersion, uid } = live.metadata;
    await client.update(type, { ...wanted, metadata: { ...wanted.metadata, resourceVersion, uid } }, { signal });
  });
}

/** The rendered objects of a revision by key, Secrets included. Rejects if another client has changed them. */
export async function readRenderedResources(
  { client, signal }: Pick<RevisionParts, "client" | "signal">,
  revision: Stored,
): Promise<ReadonlyMap<string, KubeObject>> {
  const live = await client.get(refTo(ApplicationRevision, revision), { signal });
  const configMaps = textsOf(await listData(client, ConfigMap, revision, signal), (text) => text);
  const decode = (text: string): string => Buffer.from(text, "base64").toString();
  const secrets = textsOf(await listData(client, Secret, revision, signal), decode);
  if (jsonHash({ configMaps, secrets }) !== textAt(asJson(live), "status", "resourcesDigest"))
    throw new Error(`the rendered objects of ${nameOf(live)} were changed by another client`);
  const found = new Map<string, KubeObject>();
  for (const texts of [...Object.values(configMaps), ...Object.values(secrets)])
    for (const [key, text] of Object.entries(texts)) {
      const object = readRendered(text);
      if (object !== undefined && !isStandIn(object)) found.set(key, object);
    }
  return found;
}

type Texts = Readonly<Record<string, string>>;

const textsOf = (objects: readonly Stored[], decode: (text: string) => string): Readonly<Record<string, Texts>> =>
  Object.fromEntries(
    objects.map((one) => {
      const data = Object.entries(objectAt(asJson(one), "data") ?? {});
      const texts = data.map(([key, text]) => [key, decode(typeof text === "string" ? text : "")]);
      return [one.metadata.name, Object.fromEntries(texts)];
    }),
  );

/** Keeps the end of a run in its revision. The caller leaves sensitive variables out. */
export async function recordRun(
  { client, signal }: RevisionParts,
  revision: Stored,
  run: { readonly succeeded: boolean; readonly workflow?: JsonObject; readonly workflowContext?: JsonObject },
): Promise<void> {
  const live = await client.get(refTo(ApplicationRevision, revision), { signal });
  await patchStatus(client, ApplicationRevision, live, { ...objectAt(asJson(live), "status"), ...run });
}

/** Deletes revisions beyond the limit. Their data goes with them. */
export async function pruneRevisions(
  { client, signal }: RevisionParts,
  revisions: readonly Stored[],
  inUse: ReadonlySet<string>,
  limit?: number,
): Promise<void> {
  for (const revision of outdatedRevisions(revisions, inUse, limit)) {
    try {
      await client.delete(refTo(ApplicationRevision, revision), { signal });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }
}
