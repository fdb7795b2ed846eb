import {
  defined,
  err,
  type JsonObject,
  messageOf,
  objectAt,
  objectsAt,
  ok,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import { type ApiClient, formatLabelSelector, readLabelSelector } from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, type ResourceType } from "#kernel/model/index.ts";
import type { Component } from "../app.ts";

/** At most this many objects, so that a wide selector cannot fill a revision. */
const maxObjects = 500;

/**
 * The objects that a `ref-objects` component names, as another application would write them: without status and what
 * the server adds.
 */
export async function readReferredObjects(
  client: ApiClient,
  component: Component,
  namespace: string,
  signal?: AbortSignal,
): Promise<Result<readonly JsonObject[], string>> {
  const found: JsonObject[] = [];
  for (const [index, reference] of objectsAt(component.properties, "objects").entries()) {
    const place = `objects[${index}]`;
    const type = await typeOf(client, reference);
    if (type === undefined) return err(`${place}: no kind or resource ${kindText(reference)}`);
    try {
      found.push(...(await readOne(client, type, reference, namespace, signal)));
    } catch (thrown) {
      signal?.throwIfAborted();
      return err(`${place}: ${messageOf(thrown)}`);
    }
    if (found.length > maxObjects) return err(`${place}: over ${maxObjects} objects are selected`);
  }
  return ok(found);
}

const kindText = (reference: JsonObject): string =>
  JSON.stringify(textAt(reference, "resource") ?? textAt(reference, "kind") ?? "");

/** By `resource` (plural, singular or short name), or by apiVersion and kind. */
async function typeOf(client: ApiClient, reference: JsonObject): Promise<ResourceType | undefined> {
  const [apiVersion, kind] = [textAt(reference, "apiVersion"), textAt(reference, "kind")];
  if (apiVersion !== undefined && kind !== undefined) return await client.resourceType(apiVersion, kind);
  const resource = textAt(reference, "resource")?.toLowerCase();
  const group = textAt(reference, "group");
  return (await client.resourceTypes()).find(
    (type) =>
      (resource === undefined ? type.kind === kind : isNamed(type, resource)) &&
      (group === undefined || type.group === group),
  );
}

const isNamed = ({ plural, singular, kind, shortNames = [] }: ResourceType, name: string): boolean =>
  [plural, singular ?? kind.toLowerCase(), ...shortNames].includes(name);

async function readOne(
  client: ApiClient,
  type: ResourceType,
  reference: JsonObject,
  ownNamespace: string,
  signal: AbortSignal | undefined,
): Promise<readonly JsonObject[]> {
  const namespace = type.namespaced ? { namespace: textAt(reference, "namespace") ?? ownNamespace } : {};
  const options = signal === undefined ? {} : { signal };
  const labels = objectAt(reference, "labelSelector");
  const name = textAt(reference, "name");
  if (name !== undefined) return [bare(asJson(await client.get({ type, ...namespace, name }, options)), type)];
  const selector = readLabelSelector({ matchLabels: labels ?? {} });
  if (!selector.ok) throw new Error(selector.error);
  const labelSelector = formatLabelSelector(selector.value);
  const { items } = await client.list(type, { ...namespace, labelSelector, ...options });
  return items.map((item) => bare(asJson(item), type));
}

function bare(object: JsonObject, type: ResourceType): JsonObject {
  const { status: _status, metadata, ...rest } = object;
  const { name, labels, annotations } = objectAt({ metadata }, "metadata") ?? {};
  const own = Object.fromEntries(
    Object.entries(objectAt({ annotations }, "annotations") ?? {}).filter(
      ([key]) => key !== "kubectl.kubernetes.io/last-applied-configuration" && key !== "slipway.dev/acts-for",
    ),
  );
  return {
    ...rest,
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name,
      ...defined({ labels }),
      ...(Object.keys(own).length ? { annotations: own } : {}),
    },
  };
}
