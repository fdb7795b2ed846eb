import { type JsonObject, objectsAt, textAt } from "#lib/base/index.ts";
import type { ObjectRef } from "#engine/index.ts";
import { requestJson } from "./api.ts";
import { pathOfObject, readYaml, servedKinds } from "./kinds.ts";

/** The path of an object, for `requestJson` and `send`. */
export async function objectPath({ apiVersion, kind, namespace, name }: ObjectRef): Promise<string> {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const found = (await servedKinds()).find((one) => one.kind === kind && one.group === group);
  if (found === undefined) throw new Error(`the server has no kind ${kind} in ${apiVersion}`);
  return pathOfObject({ ...found, version }, namespace, name);
}

export const objectYaml = async (ref: ObjectRef, signal: AbortSignal): Promise<string> =>
  readYaml(await objectPath(ref), signal);

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
