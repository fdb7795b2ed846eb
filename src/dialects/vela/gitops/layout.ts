import type { JsonObject } from "#lib/base/index.ts";
import { objectAt } from "#lib/base/index.ts";
import { writeYaml, writeYamlDocuments } from "#lib/yaml/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";

// Pure: objects as files of a repository, in an order that does not depend on how they were rendered.

export type Layout = "files" | "single";

/** Lists what Slipway wrote, so that only its own files are pruned. */
export const indexFile = ".slipway-objects";

const unsafe = /[^A-Za-z0-9._-]+/g;

const keyOf = ({ apiVersion, kind, metadata }: KubeObject): string =>
  [metadata.namespace ?? "", kind, metadata.name ?? "", apiVersion].join("\0");

const fileOf = ({ kind, metadata }: KubeObject): string =>
  [...(metadata.namespace === undefined ? [] : [metadata.namespace]), kind.toLowerCase(), metadata.name ?? ""]
    .map((part) => part.replace(unsafe, "_"))
    .join("_");

/** Text by path. Objects of one name in several groups get the group in their file's name. */
export function filesOf(objects: readonly KubeObject[], app: string, layout: Layout): ReadonlyMap<string, string> {
  const sorted = objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  if (layout === "single")
    return new Map([[`${app.replace(unsafe, "_")}.yaml`, writeYamlDocuments(sorted.map(plain))]]);
  const files = new Map<string, string>();
  for (const object of sorted) {
    const name = fileOf(object);
    const group = object.apiVersion.split("/").slice(0, -1).join("").replace(unsafe, "_");
    files.set(files.has(`${name}.yaml`) ? `${name}_${group}.yaml` : `${name}.yaml`, writeYaml(plain(object)));
  }
  return files;
}

const volatile = ["app.oam.dev/appRevision", "app.oam.dev/app-revision-hash"];
const ofServer = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"];

/** Without the revision: a commit has the lines that changed and no others. */
function plain(object: KubeObject): JsonObject {
  const { status: _status, ...json } = asJson(object);
  const metadata = objectAt(json, "metadata") ?? {};
  const labels = without(objectAt(metadata, "labels"), volatile);
  const kept = without(metadata, [...ofServer, "labels"]) ?? {};
  return { ...json, metadata: labels === undefined ? kept : { ...kept, labels } };
}

const without = (object: JsonObject | undefined, names: readonly string[]): JsonObject | undefined =>
  object === undefined
    ? undefined
    : Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
