import { defined, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { RenderedObject } from "../render/rendered.ts";
import { isSecret } from "../labels.ts";

/** Data of ConfigMaps and of a Secret, by name and key. */
export interface RenderedData {
  readonly configMaps: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Servers store at most 1 MiB in an object. */
const maxShardBytes = 900 * 1024;

/** The objects of a revision as data, split where it would be too large. ConfigMaps only name Secrets. */
export function renderedData(name: string, objects: readonly RenderedObject[]): RenderedData {
  const plain = objects.map(
    ({ key, object }) => [key, JSON.stringify(isSecret(object) ? standIn(object) : object)] as const,
  );
  const hidden = objects.flatMap(({ key, object }) =>
    isSecret(object) ? [[key, JSON.stringify(object)] as const] : [],
  );
  return { configMaps: shards(name, plain, true), secrets: shards(name, hidden, false) };
}

/** What a ConfigMap shows of a Secret: its annotations may repeat its values. */
function standIn({ metadata: { name, namespace, labels } }: KubeObject): JsonObject {
  const metadata = { name: name ?? "", ...defined({ namespace }), labels: { ...labels } };
  return { apiVersion: "v1", kind: "Secret", metadata, "x-in-secret": true };
}

/** `<name>`, `<name>-2`, … in the order of the entries. */
function shards(
  name: string,
  entries: readonly (readonly [string, string])[],
  evenIfEmpty: boolean,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const result: Record<string, Record<string, string>> = {};
  let current: Record<string, string> | undefined;
  let bytes = 0;
  for (const [key, text] of entries) {
    const size = Buffer.byteLength(key) + Buffer.byteLength(text);
    if (current === undefined || (bytes > 0 && bytes + size > maxShardBytes)) {
      const number = Object.keys(result).length + 1;
      current = result[number === 1 ? name : `${name}-${number}`] = {};
      bytes = 0;
    }
    current[key] = text;
    bytes += size;
  }
  if (current === undefined && evenIfEmpty) result[name] = {};
  return result;
}

/** The object of a key, if the text is one. */
export function readRendered(text: string): KubeObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && typeof value["kind"] === "string" ? (value as unknown as KubeObject) : undefined;
  } catch {
    // Damaged by hand: the same as absent.
    return undefined;
  }
}

export const isStandIn = (object: KubeObject): boolean => asJson(object)["x-in-secret"] === true;
