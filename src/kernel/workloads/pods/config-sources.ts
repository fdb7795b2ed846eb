import { isJsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { claimNames } from "../claims/claim.ts";
import type { PodSpec, Volume } from "../pod-types.ts";

// ConfigMaps and Secrets are read when a container is to start and not mirrored: a server with thousands of Secrets need not hold
// them all in memory for the few that are read.

/** What a pod cannot do without. */
export interface SourceName {
  readonly kind: "ConfigMap" | "Secret" | "PersistentVolumeClaim";
  readonly name: string;
}

/** The contents of what a pod reads: by `kind/name`, then by key; absent when it does not exist. Bytes as they are stored. */
export type Sources = ReadonlyMap<string, ReadonlyMap<string, Buffer>>;

export const sourceKey = ({ kind, name }: SourceName): string => `${kind}/${name}`;

/** Every ConfigMap and Secret that a pod's variables and volumes read, each once, also what is optional. References without a name read nothing. */
export function sourcesOf(spec: PodSpec): readonly SourceName[] {
  const found = new Map<string, SourceName>();
  const add = (kind: SourceName["kind"], name: string | undefined) => {
    if (name !== undefined && name !== "") found.set(`${kind}/${name}`, { kind, name });
  };
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
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

/** Every ConfigMap and Secret that files of volumes are made of, each once for each time it is named, also what is optional. */
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

/** Claims are not read but mounted. */
export const claimsOf = (spec: PodSpec): readonly SourceName[] =>
  claimNames(spec).map((name) => ({ kind: "PersistentVolumeClaim", name }));

/** The keys of a ConfigMap (text and binary) or of a Secret, as bytes. Values that are no texts, which no server stores, are left out. */
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
