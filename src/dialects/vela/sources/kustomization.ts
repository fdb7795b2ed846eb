import { posix } from "node:path";
import {
  defined,
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  objectsAt,
  ok,
  type Result,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import { applyJsonPatch } from "#lib/json/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { mergeByName } from "./merge.ts";

// The part of kustomize that templates of applications use, for machines that do not have it.

const known = new Set(
  (
    "apiVersion kind metadata resources bases namePrefix nameSuffix namespace labels commonLabels commonAnnotations " +
    "images patches patchesStrategicMerge patchesJson6902 configMapGenerator generatorOptions openapi"
  ).split(" "),
);
const deepest = 20;

type Files = ReadonlyMap<string, Buffer>;
type Objects = Result<readonly JsonObject[], string>;

/** Folders that may be read, counted as often as others refer to them. */
const mostReads = 1_000;

/** The objects of the kustomization in a folder. */
export const buildKustomization = (files: Files, folder: string): Objects =>
  buildFolder(files, folder, { depth: 0, reads: { left: mostReads } });

interface Descent {
  readonly depth: number;
  readonly reads: { left: number };
}

function buildFolder(files: Files, folder: string, descent: Descent): Objects {
  const name = kustomizationIn(files, folder);
  if (name === undefined) return err(`${folder === "" ? "the source" : folder} has no kustomization.yaml`);
  if (descent.depth > deepest) return err(`${name}: kustomizations are nested more than ${deepest} deep`);
  if (descent.reads.left-- === 0) return err(`${name}: more than ${mostReads} references to kustomizations`);
  const read = documentsOf(files, name);
  if (!read.ok) return read;
  const given = read.value[0] ?? {};
  const unknown = Object.keys(given).filter((field) => !known.has(field));
  if (unknown.length > 0)
    return err(`${name}: ${unknown.join(", ")}: not supported without kustomize; install kustomize or kubectl`);
  let objects: readonly JsonObject[] = [];
  for (const resource of [...textsAt(given, "resources"), ...textsAt(given, "bases")]) {
    const found = resourceAt(files, folder, resource, descent);
    if (!found.ok) return found;
    objects = [...objects, ...found.value];
  }
  const generated = objectsAt(given, "configMapGenerator").map((each) => configMapOf(each, files, folder));
  const patched = patchAll([...objects, ...generated], given, files, folder);
  return patched.ok ? ok(patched.value.map((object) => transform(object, given))) : err(`${name}: ${patched.error}`);
}

const kustomizationIn = (files: Files, folder: string): string | undefined =>
  ["kustomization.yaml", "kustomization.yml", "Kustomization"]
    .map((each) => join(folder, each))
    .find((each) => files.has(each));

/**
 * Of a kustomization that kustomize itself reads. It ignores case in names, so every other name is refused. Generators,
 * transformers, validators and charts may read addresses in ways that do not show here.
 */
const readable = new Set([
  ...known,
  ..."components secretGenerator replacements replicas vars configurations crds buildMetadata sortOptions".split(" "),
]);
const referring: readonly string[] = ["resources", "bases", "components"];
/** Values, which may look like addresses. */
const plain = /^(?:literals|commonAnnotations|commonLabels|labels|images|namespace|namePrefix|nameSuffix|metadata)$/;

/** What kustomize would read from elsewhere, although the source must have everything. */
export function foreignReference(files: Files, folder: string): string | undefined {
  const waiting = new Map([[folder, 0]]);
  // Each folder is read once, however many others refer to it.
  for (const [at, depth] of waiting) {
    const name = kustomizationIn(files, at);
    if (name === undefined) continue;
    if (depth > deepest) return `${name}: more than ${deepest} folders refer to each other`;
    const read = documentsOf(files, name);
    if (!read.ok) return `${name}: ${read.error}`;
    for (const given of read.value) {
      const foreign = foreignIn(given);
      if (foreign !== undefined) return `${name}: ${foreign}`;
      for (const resource of referring.flatMap((each) => textsAt(given, each))) {
        const path = join(at, resource);
        if (files.has(path)) continue;
        if (![...files.keys()].some((each) => path === "" || each.startsWith(`${path}/`)))
          return `${name}: ${resource}: not found in the source, and nothing is fetched from elsewhere`;
        if (!waiting.has(path)) waiting.set(path, depth + 1);
      }
    }
  }
  return undefined;
}

function foreignIn(given: JsonObject): string | undefined {
  const field = Object.keys(given).find((each) => !readable.has(each));
  if (field !== undefined) return `${field}: not supported`;
  const address = addressIn(given);
  return address === undefined ? undefined : `${address}: what other sources have is not fetched`;
}

function addressIn(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string")
    return /^(?:[\w.-]+=)?(?:[a-z][a-z0-9+.-]*:\/\/|git@|git::)/i.test(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const found = plain.test(key) ? undefined : addressIn(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

const join = (folder: string, path: string): string =>
  posix.normalize(posix.join(folder, path)).replace(/^\.\/?|\/$/g, "");

function documentsOf(files: Files, name: string): Objects {
  const content = files.get(name);
  if (content === undefined) return err(`${name}: not found in the source`);
  const read = readYaml(content.toString());
  if (!read.ok) return err(`${name}: ${read.error.map(({ message }) => message).join("; ")}`);
  return ok(read.value.documents.map(({ value }) => value).filter(isJsonObject));
}

function resourceAt(files: Files, folder: string, resource: string, { depth, reads }: Descent): Objects {
  if (/^[a-z+]+:\/\/|^git@|\?ref=/.test(resource))
    return err(`${resource}: resources of other sources are not supported without kustomize`);
  const path = join(folder, resource);
  return files.has(path) ? documentsOf(files, path) : buildFolder(files, path, { depth: depth + 1, reads });
}

function configMapOf(given: JsonObject, files: Files, folder: string): JsonObject {
  const pairs = textsAt(given, "literals").map((each) => splitAt(each));
  const contents = textsAt(given, "files").map((each) => {
    const [key, path] = each.includes("=") ? splitAt(each) : [posix.basename(each), each];
    return [key, files.get(join(folder, path))?.toString() ?? ""] as const;
  });
  const metadata = {
    name: textAt(given, "name") ?? "",
    ...(textAt(given, "namespace") === undefined ? {} : { namespace: textAt(given, "namespace") ?? "" }),
  };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: Object.fromEntries([...pairs, ...contents]) };
}

const splitAt = (text: string): readonly [string, string] => {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1).replace(/^(["'])(.*)\1$/, "$2")];
};

interface PatchOf {
  readonly text: string;
  readonly target: JsonObject | undefined;
}

function patchAll(objects: readonly JsonObject[], given: JsonObject, files: Files, folder: string): Objects {
  let result = objects;
  for (const patch of patchesOf(given, files, folder)) {
    if (!patch.ok) return patch;
    const read = readYaml(patch.value.text);
    if (!read.ok) return err(`patches: ${read.error.map(({ message }) => message).join("; ")}`);
    for (const { value } of read.value.documents) {
      const next = patchOne(result, value, patch.value.target);
      if (!next.ok) return next;
      result = next.value;
    }
  }
  return ok(result);
}

function patchesOf(given: JsonObject, files: Files, folder: string): readonly Result<PatchOf, string>[] {
  const fromFile = (path: string, target: JsonObject | undefined): Result<PatchOf, string> => {
    const content = files.get(join(folder, path));
    return content === undefined ? err(`${path}: not found in the source`) : ok({ text: content.toString(), target });
  };
  const listed = [...objectsAt(given, "patches"), ...objectsAt(given, "patchesJson6902")].map((each) => {
    const [path, target] = [textAt(each, "path"), objectAt(each, "target")];
    return path === undefined ? ok({ text: textAt(each, "patch") ?? "", target }) : fromFile(path, target);
  });
  const merged = textsAt(given, "patchesStrategicMerge").map((each) =>
    each.includes("\n") ? ok({ text: each, target: undefined }) : fromFile(each, undefined),
  );
  return [...listed, ...merged];
}

/** Operations need a target; other patches may name it by themselves. */
function patchOne(objects: readonly JsonObject[], patch: JsonValue, target: JsonObject | undefined): Objects {
  const chosen = target ?? targetOf(patch);
  const hits = objects.filter((object) => matches(object, chosen));
  if (hits.length === 0) return err(`patches: no object matches ${JSON.stringify(chosen)}`);
  const result: JsonObject[] = [];
  for (const object of objects) {
    if (!hits.includes(object)) result.push(object);
    else if (isJsonObject(patch)) {
      if (patch["$patch"] === "delete") continue;
      const { name, namespace } = objectAt(object, "metadata") ?? {};
      const merged = mergeByName(object, patch);
      const kept = isJsonObject(merged) ? merged : object;
      const own = {
        ...objectAt(kept, "metadata"),
        name: name ?? null,
        ...defined({ namespace }),
      };
      result.push({ ...kept, kind: object["kind"] ?? null, apiVersion: object["apiVersion"] ?? null, metadata: own });
    } else {
      const patched = applyJsonPatch(object, patch);
      if (!patched.ok) return err(`patches: ${patched.error.message}`);
      if (isJsonObject(patched.value)) result.push(patched.value);
    }
  }
  return ok(result);
}

const targetOf = (patch: JsonValue): JsonObject =>
  isJsonObject(patch) ? { kind: patch["kind"] ?? null, name: textAt(patch, "metadata", "name") ?? null } : {};

function matches(object: JsonObject, target: JsonObject): boolean {
  const anchored = (pattern: JsonValue | undefined, value: string | undefined): boolean =>
    typeof pattern !== "string" ||
    new RegExp(`^(?:${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\\\.\*|\*/g, ".*")})$`).test(value ?? "");
  return (
    anchored(target["kind"], textAt(object, "kind")) &&
    anchored(target["name"], textAt(object, "metadata", "name")) &&
    anchored(target["namespace"], textAt(object, "metadata", "namespace"))
  );
}

function transform(object: JsonObject, given: JsonObject): JsonObject {
  const labels = labelsOf(given);
  const annotations = objectAt(given, "commonAnnotations") ?? {};
  const metadata = objectAt(object, "metadata") ?? {};
  const name = `${textAt(given, "namePrefix") ?? ""}${textAt(metadata, "name") ?? ""}${textAt(given, "nameSuffix") ?? ""}`;
  const namespace = textAt(given, "namespace");
  const next: JsonObject = {
    ...object,
    metadata: {
      ...metadata,
      name,
      ...(namespace === undefined || object["kind"] === "Namespace" ? {} : { namespace }),
      ...withMembers("labels", objectAt(metadata, "labels"), labels),
      ...withMembers("annotations", objectAt(metadata, "annotations"), annotations),
    },
  };
  const images = listAt(given, "images").filter(isJsonObject);
  const replaced = images.length === 0 ? next : withImages(next, images);
  return isJsonObject(replaced) ? replaced : next;
}

const withMembers = (name: string, before: JsonObject | undefined, more: JsonObject): JsonObject =>
  Object.keys(more).length === 0 ? {} : { [name]: { ...before, ...more } };

const labelsOf = (given: JsonObject): JsonObject =>
  Object.assign(
    {},
    objectAt(given, "commonLabels"),
    ...objectsAt(given, "labels").map((each) => objectAt(each, "pairs") ?? {}),
  );

/** Every member `image` is a reference, also in properties of components. */
function withImages(value: JsonValue, images: readonly JsonObject[]): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withImages(item, images));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === "image" && typeof member === "string" ? imageBy(member, images) : withImages(member ?? null, images),
    ]),
  );
}

function imageBy(image: string, images: readonly JsonObject[]): string {
  const [, name = image, tail = ""] = /^(.*?)((?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?)$/.exec(image) ?? [];
  const found = images.find((each) => each["name"] === name);
  if (found === undefined) return image;
  const [digest, tag] = [textAt(found, "digest"), textAt(found, "newTag")];
  const end = digest !== undefined ? `@${digest}` : tag !== undefined ? `:${tag}` : tail;
  return `${textAt(found, "newName") ?? name}${end}`;
}
