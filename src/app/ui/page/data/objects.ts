import { type JsonObject, objectsAt, textAt } from "#lib/base/index.ts";
import type { ObjectRef } from "#engine/index.ts";
import { requestJson, send } from "./api.ts";

/** Names of resources by kind, as discovery says; kept as long as the page. */
const groups = new Map<string, Promise<JsonObject>>();

const groupPath = (apiVersion: string): string =>
  apiVersion.includes("/") ? `/api/apis/${apiVersion}` : `/api/api/${apiVersion}`;

function discover(apiVersion: string): Promise<JsonObject> {
  const known = groups.get(apiVersion);
  if (known !== undefined) return known;
  const asked = requestJson<JsonObject>("GET", groupPath(apiVersion));
  groups.set(apiVersion, asked);
  // Asked again by the next who needs it.
  asked.catch(() => groups.delete(apiVersion));
  return asked;
}

/** The path of an object, for `requestJson` and `send`. */
export async function objectPath(ref: ObjectRef): Promise<string> {
  const found = objectsAt(await discover(ref.apiVersion), "resources").find(
    (resource) => textAt(resource, "kind") === ref.kind && textAt(resource, "name")?.includes("/") === false,
  );
  const plural = textAt(found, "name");
  if (plural === undefined) throw new Error(`the server has no kind ${ref.kind} in ${ref.apiVersion}`);
  const namespace = ref.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(ref.namespace)}`;
  return `${groupPath(ref.apiVersion)}${namespace}/${plural}/${encodeURIComponent(ref.name)}`;
}

export async function objectYaml(ref: ObjectRef, signal: AbortSignal): Promise<string> {
  const response = await send("GET", await objectPath(ref), { accept: "application/yaml", signal });
  return response.text();
}

export interface ObjectEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly at: number;
}

/** Events about an object, the newest first. */
export async function eventsOf(ref: ObjectRef, signal: AbortSignal): Promise<readonly ObjectEvent[]> {
  const query = { fieldSelector: `involvedObject.kind=${ref.kind},involvedObject.name=${ref.name}`, limit: "500" };
  const path = `/api/api/v1/namespaces/${encodeURIComponent(ref.namespace ?? "default")}/events`;
  const list = await requestJson<JsonObject>("GET", path, { query, signal });
  return objectsAt(list, "items")
    .map((event) => ({
      type: textAt(event, "type") ?? "Normal",
      reason: textAt(event, "reason") ?? "",
      message: textAt(event, "message") ?? "",
      count: Number(event["count"] ?? 1),
      at: Date.parse(
        textAt(event, "lastTimestamp") ?? textAt(event, "eventTime") ?? textAt(event, "metadata", "creationTimestamp") ?? "",
      ),
    }))
    .sort((a, b) => b.at - a.at);
}
