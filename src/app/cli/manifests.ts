import { formatProblem, hasErrors, isJsonObject, type JsonValue, messageOf, type Problem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { type ApiClient, isKubeObject, type Ref } from "#kernel/kit/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
import { type Environment, UsageError } from "#kernel/command/index.ts";
import { readSources } from "#kernel/command/index.node.ts";

/**
 * The objects of files, folders and `-`, in order, including the items of Lists. Throws a UsageError with all problems.
 */
export async function readManifests(
  paths: readonly string[],
  { directory }: Pick<Environment, "directory">,
): Promise<readonly KubeObject[]> {
  const problems: Problem[] = [];
  const objects: KubeObject[] = [];
  for (const source of await readSources(paths, { directory })) {
    if ("problem" in source) {
      problems.push(source.problem);
      continue;
    }
    const read = readYaml(source.text, { file: source.file });
    if (!read.ok) problems.push(...read.error);
    for (const { value, positionOf } of read.ok ? read.value.documents : []) {
      if (value === null) continue;
      const found = objectsIn(value);
      objects.push(...(found ?? []));
      const message = "expected a Kubernetes object with apiVersion, kind and metadata";
      if (found === undefined)
        problems.push({ severity: "error", code: "unknown-document", path: "", message, position: positionOf([]) });
    }
  }
  if (hasErrors(problems)) throw new UsageError(problems.map(formatProblem).join("\n"));
  if (objects.length === 0) throw new UsageError(`${paths.join(", ")} contains no object`);
  return objects;
}

function objectsIn(value: JsonValue): readonly KubeObject[] | undefined {
  if (
    isJsonObject(value) &&
    typeof value["kind"] === "string" &&
    value["kind"].endsWith("List") &&
    Array.isArray(value["items"])
  ) {
    const all = value["items"].map(objectsIn);
    return all.every((found) => found !== undefined) ? all.flat() : undefined;
  }
  return isKubeObject(value) ? [value] : undefined;
}

/** The place of an object. The namespace of the command line must not contradict the object's. */
export async function refOf(
  client: ApiClient,
  { apiVersion, kind, metadata }: KubeObject,
  namespace: string,
  given: string | undefined,
): Promise<Ref> {
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) throw new UsageError(`the server serves no kind ${kind} in ${apiVersion}`);
  const { name, namespace: own } = metadata;
  if (name === undefined) throw new UsageError(`a ${kind} has no metadata.name`, "slipway run starts runs without one");
  if (!type.namespaced) return { type, name };
  if (own !== undefined && given !== undefined && own !== given)
    throw new UsageError(`${titleOf({ type, name })} is in namespace ${own}, but --namespace is ${given}`);
  return { type, name, namespace: own ?? namespace };
}

/** `workflow.slipway.dev`, as in kubectl. */
export const wordOf = ({ kind, group }: ResourceType): string =>
  group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;

/** `workflow.slipway.dev/hello`. */
export const titleOf = ({ type, name }: Ref): string => `${wordOf(type)}/${name}`;

/** Calls `act` for each item, prints failures and continues; true if none failed. */
export async function forEach<T>(
  all: readonly T[],
  act: (one: T) => Promise<void>,
  { err }: Pick<Environment, "err">,
): Promise<boolean> {
  let isWell = true;
  for (const one of all) {
    await act(one).catch((thrown: unknown) => {
      isWell = false;
      err.write(`slipway: ${messageOf(thrown)}\n`);
    });
  }
  return isWell;
}
