import { isJsonObject, type JsonObject, type JsonValue, formatProblem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { kubeconfigInvalid } from "./errors.ts";

// kubeconfig files as kubectl reads and merges them. Only the used parts are checked.

/** A named part, with the folder for its relative paths. */
interface Named {
  readonly name: string;
  readonly value: JsonObject;
  readonly folder: string;
}

export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Named>;
  readonly users: ReadonlyMap<string, Named>;
  readonly contexts: ReadonlyMap<string, Named>;
}

export interface ContextParts {
  readonly context: string;
  readonly namespace: string | undefined;
  readonly cluster: Named;
  readonly user: Named | undefined;
}

export type { Named as KubeconfigPart };

/** Throws a SlipwayError with all problems. An empty file is an empty kubeconfig. */
export function readKubeconfig(text: string, file: string, folder: string): Kubeconfig {
  const read = readYaml(text, { file });
  if (!read.ok) throw kubeconfigInvalid(read.error.map(formatProblem).join("; "));
  const value = read.value.documents[0]?.value ?? {};
  if (!isJsonObject(value)) throw kubeconfigInvalid(`${file} is no kubeconfig: expected a mapping`);
  const { kind } = value;
  if (kind !== undefined && kind !== "Config")
    throw kubeconfigInvalid(`${file} is no kubeconfig: its kind is ${JSON.stringify(kind)}`);
  return {
    currentContext: textAt(value, "current-context"),
    clusters: namedParts(value, "clusters", "cluster", file, folder),
    users: namedParts(value, "users", "user", file, folder),
    contexts: namedParts(value, "contexts", "context", file, folder),
  };
}

/** The first file with a name or a current context wins, as in kubectl. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const first = (part: "clusters" | "users" | "contexts") =>
    new Map([...configs].reverse().flatMap((config) => [...config[part]]));
  return {
    currentContext: configs.find(({ currentContext }) => currentContext !== undefined)?.currentContext,
    clusters: first("clusters"),
    users: first("users"),
    contexts: first("contexts"),
  };
}

export function partsOf(config: Kubeconfig, wanted?: string): ContextParts {
  const name = wanted ?? config.currentContext;
  if (name === undefined)
    throw kubeconfigInvalid("the kubeconfig names no current context", `choose one of: ${names(config.contexts)}`);
  const context = partNamed(config.contexts, "context", name).value;
  const cluster = textAt(context, "cluster");
  if (cluster === undefined) throw kubeconfigInvalid(`the context "${name}" names no cluster`);
  const user = textAt(context, "user");
  return {
    context: name,
    namespace: textAt(context, "namespace"),
    cluster: partNamed(config.clusters, "cluster", cluster),
    user: user === undefined ? undefined : partNamed(config.users, "user", user),
  };
}

/** Empty and null count as absent; anything else that is not a text is an error. */
export function textAt(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw kubeconfigInvalid(`expected a text for ${key}, found ${JSON.stringify(value)}`);
  return value;
}

function partNamed(parts: ReadonlyMap<string, Named>, what: string, name: string): Named {
  const part = parts.get(name);
  if (part === undefined)
    throw kubeconfigInvalid(`the kubeconfig has no ${what} "${name}"`, `there are: ${names(parts)}`);
  return part;
}

const names = (parts: ReadonlyMap<string, Named>): string => [...parts.keys()].sort().join(", ") || "none";

/** The first part of a name wins. */
function namedParts(
  config: JsonObject,
  list: string,
  member: string,
  file: string,
  folder: string,
): Map<string, Named> {
  const items = config[list] ?? [];
  if (!Array.isArray(items)) throw kubeconfigInvalid(`${file}: expected a list of ${list}`);
  const parts = new Map<string, Named>();
  for (const [index, item] of (items as readonly JsonValue[]).entries()) {
    const name = isJsonObject(item) ? textAt(item, "name") : undefined;
    const value = isJsonObject(item) ? (item[member] ?? {}) : undefined;
    if (name === undefined || !isJsonObject(value))
      throw kubeconfigInvalid(`${file}: ${list}[${index}] needs a name and a ${member}`);
    if (!parts.has(name)) parts.set(name, { name, value, folder });
  }
  return parts;
}
