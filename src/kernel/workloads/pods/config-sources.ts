import { isJsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { claimNames } from "../claims/claim.ts";
import { type PodSpec, type Volume, allContainers } from "../pod-types.ts";

// ConfigMaps and Secrets are read when a container starts, not mirrored: a server with thousands of Secrets need not
// keep them all in memory.

export interface SourceName {
  readonly kind: "ConfigMap" | "Secret" | "PersistentVolumeClaim";
  readonly name: string;
}

/** By `kind/name`, then by key; absent if the object does not exist. */
export type Sources = ReadonlyMap<string, ReadonlyMap<string, Buffer>>;

export const sourceKey = ({ kind, name }: SourceName): string => `${kind}/${name}`;

/** Each ConfigMap and Secret that variables and volumes read, optional ones included. */
export function sourcesOf(spec: PodSpec): readonly SourceName[] {
  const found = new Map<string, SourceName>();
  const add = (kind: SourceName["kind"], name: string | undefined) => {
    if (name !== undefined && name !== "") found.set(`${kind}/${name}`, { kind, name });
  };
  for (const container of allContainers(spec)) {
    for (const { valueFrom } of container.env ?? []) {
      add("ConfigMap", valueFrom?.configMapKeyRef?.name);
      add("Secret", valueFrom?.secretKeyRef?.name);
    }
    for (const source of container.envFrom ?? []) {
      add("ConfigMap", source.configMapRef?.name);
      add("Secret", source.secretRef?.name);
    }
  }
  for (const { kind, name } of volumeSourcesOf(spec.volumes)) add(kind, name);
  return [...found.values()];
}

/** The ConfigMaps and Secrets of volumes, optional ones included, once for each mention. */
export function volumeSourcesOf(volumes: readonly Volume[] | undefined): readonly SourceName[] {
  const found: SourceName[] = [];
  const add = (kind: SourceName["kind"], name: string | undefined) => {
    if (name !== undefined && name !== "") found.push({ kind, name });
  };
  for (const volume of volumes ?? []) {
    add("ConfigMap", volume.configMap?.name);
    add("Secret", volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) {
      add("ConfigMap", source.configMap?.name);
      add("Secret", source.secret?.name);
    }
  }
  return found;
}

export const claimsOf = (spec: PodSpec): readonly SourceName[] =>
  claimNames(spec).map((name) => ({ kind: "PersistentVolumeClaim", name }));

export function contentsOf(object: KubeObject): ReadonlyMap<string, Buffer> {
  const contents = new Map<string, Buffer>();
  const { data, binaryData } = asJson(object);
  const plain = object.kind === "Secret" ? "base64" : "utf8";
  for (const [map, encoding] of [
    [data, plain],
    [binaryData, "base64"],
  ] as const) {
    if (!isJsonObject(map)) continue;
    for (const [key, value] of Object.entries(map)) {
      if (typeof value === "string") contents.set(key, Buffer.from(value, encoding));
    }
  }
  return contents;
}
