import { posix } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import type { AccountTokenSource, DownwardItem, KeyToPath, PodObject, Volume } from "../pod-types.ts";
import type { TokenOf } from "./account-tokens.ts";
import { sourceKey, type Sources } from "./config-sources.ts";
import { notFound } from "./environment.ts";
import { fieldValue, type Node, resourceValue } from "./pod-fields.ts";

export interface VolumeFile {
  readonly path: string;
  readonly data: Buffer;
  readonly mode: number;
}

export type VolumeContent =
  | { readonly kind: "empty" }
  | { readonly kind: "files"; readonly files: readonly VolumeFile[] }
  | { readonly kind: "claim"; readonly path: string }
  | { readonly kind: "host"; readonly path: string; readonly type: string };

export interface VolumeInput {
  readonly pod: PodObject;
  readonly node: Node;
  readonly sources: Sources;
  /** The directory of a claim, or why the pod cannot use it now. */
  readonly claim: (name: string) => Result<string, string>;
  readonly tokenOf: TokenOf;
}

const defaultMode = 0o644;

export const isFollowed = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  configMap !== undefined || secret !== undefined || downwardAPI !== undefined || projected !== undefined;

export const tellsOfPod = ({ downwardAPI, projected }: Volume): boolean =>
  downwardAPI !== undefined || (projected?.sources ?? []).some((source) => source.downwardAPI !== undefined);

/** A volume's content, or every reason against it. Pure. No source is an emptyDir; the later of two files wins. */
export function volumeContent(volume: Volume, input: VolumeInput): Result<VolumeContent, readonly string[]> {
  if (volume.hostPath !== undefined) {
    return ok({ kind: "host", path: volume.hostPath.path, type: volume.hostPath.type ?? "" });
  }
  if (volume.persistentVolumeClaim !== undefined) {
    const path = input.claim(volume.persistentVolumeClaim.claimName);
    return path.ok ? ok({ kind: "claim", path: path.value }) : err([path.error]);
  }
  const parts = partsOf(volume, input);
  if (parts === undefined) return ok({ kind: "empty" });
  const problems = parts.flatMap((part) => (part.ok ? [] : part.error));
  if (problems.length > 0) return err(problems.map((problem) => `volume ${volume.name}: ${problem}`));
  return ok({ kind: "files", files: parts.flatMap((part) => (part.ok ? part.value : [])) });
}

type Part = Result<readonly VolumeFile[], readonly string[]>;

function partsOf(volume: Volume, input: VolumeInput): readonly Part[] | undefined {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap !== undefined) return [keyFiles("ConfigMap", configMap.name, configMap, configMap.defaultMode, input)];
  if (secret !== undefined) return [keyFiles("Secret", secret.secretName, secret, secret.defaultMode, input)];
  if (downwardAPI !== undefined) return [downwardFiles(downwardAPI.items, downwardAPI.defaultMode, input)];
  if (projected === undefined) return undefined;
  const mode = projected.defaultMode;
  return (projected.sources ?? []).map((source) => {
    if (source.configMap !== undefined)
      return keyFiles("ConfigMap", source.configMap.name, source.configMap, mode, input);
    if (source.secret !== undefined) return keyFiles("Secret", source.secret.name, source.secret, mode, input);
    if (source.downwardAPI !== undefined) return downwardFiles(source.downwardAPI.items, mode, input);
    if (source.serviceAccountToken !== undefined) return tokenFile(source.serviceAccountToken, mode, input);
    return err([`projected source ${Object.keys(source).join(", ")} is not supported`]);
  });
}

function keyFiles(
  kind: "ConfigMap" | "Secret",
  name = "",
  source: { readonly items?: readonly KeyToPath[]; readonly optional?: boolean },
  mode: number | undefined,
  input: VolumeInput,
): Part {
  const contents = input.sources.get(sourceKey({ kind, name }));
  if (contents === undefined) return source.optional === true ? ok([]) : err([notFound(kind, name)]);
  const items = source.items ?? [...contents.keys()].map((key): KeyToPath => ({ key, path: key }));
  const files: VolumeFile[] = [];
  const problems: string[] = [];
  for (const item of items) {
    const data = contents.get(item.key);
    if (data === undefined) {
      if (source.optional !== true) problems.push(`couldn't find key ${item.key} in ${kind} ${name}`);
    } else if (!isInside(item.path)) problems.push(`path ${item.path} must be relative and stay inside the volume`);
    else files.push({ path: item.path, data, mode: item.mode ?? mode ?? defaultMode });
  }
  return problems.length === 0 ? ok(files) : err(problems);
}

function downwardFiles(items: readonly DownwardItem[] | undefined, mode: number | undefined, input: VolumeInput): Part {
  const files: VolumeFile[] = [];
  const problems: string[] = [];
  for (const item of items ?? []) {
    const value = downwardValue(item, input);
    if (!value.ok) problems.push(value.error);
    else if (!isInside(item.path)) problems.push(`path ${item.path} must be relative and stay inside the volume`);
    else files.push({ path: item.path, data: Buffer.from(value.value), mode: item.mode ?? mode ?? defaultMode });
  }
  return problems.length === 0 ? ok(files) : err(problems);
}

function tokenFile(source: AccountTokenSource, mode: number | undefined, { tokenOf }: VolumeInput): Part {
  const token = tokenOf(source);
  if (!token.ok) return err([token.error]);
  if (!isInside(source.path)) return err([`path ${source.path} must be relative and stay inside the volume`]);
  return ok([{ path: source.path, data: Buffer.from(token.value), mode: mode ?? defaultMode }]);
}

/** A resource without a container's name means the first container. */
function downwardValue(item: DownwardItem, { pod, node }: VolumeInput): Result<string, string> {
  const first = pod.spec.containers[0];
  if (item.fieldRef !== undefined) return fieldValue(pod, item.fieldRef.fieldPath, node);
  if (item.resourceFieldRef !== undefined && first !== undefined) {
    return resourceValue(pod, item.resourceFieldRef, first, node);
  }
  return err(`item ${item.path} names no field`);
}

export const isInside = (path: string): boolean =>
  path !== "" && !posix.isAbsolute(path) && !path.split("/").includes("..") && posix.normalize(path) !== ".";
