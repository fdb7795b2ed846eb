import { isJsonObject, type JsonObject, type Millis, parseDuration } from "#lib/base/index.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { kindOf, type Node, type Place } from "../definition/node.ts";
import { valueOf } from "../definition/print.ts";
import { asText, resolvePlain } from "../definition/scalar.ts";
import { readBoolean, readText, readTextMap, readTexts, spotOf } from "../definition/values.ts";

interface ValueKind<T> {
  /** Undefined, after reporting, if the node does not fit. */
  readonly read: (node: Node, scope: string, reporter: Reporter) => T | undefined;
  /** The text of a variable as a node; absent if a variable cannot express it. */
  readonly fromVariable?: (text: string, at: Place) => Node;
}

const plainWord = (text: string, at: Place): Node => ({ kind: "scalar", ...resolvePlain(text.trim()), at, madeOf: [] });
const wholeText = (text: string, at: Place): Node => ({ kind: "scalar", ...asText(text), at });

const text: ValueKind<string> = { read: readText, fromVariable: wholeText };

const truth: ValueKind<boolean> = { read: readBoolean, fromVariable: plainWord };

const count: ValueKind<number> = {
  read(node, scope, { error }) {
    if (node.kind === "scalar" && node.tag === "integer" && typeof node.value === "number" && node.value >= 0)
      return node.value;
    const found = node.kind === "scalar" && node.tag === "integer" ? node.text : kindOf(node);
    error(spotOf(scope, node), "type", `expected integer of 0 or more, found ${found}`);
    return undefined;
  },
  fromVariable: plainWord,
};

const duration: ValueKind<Millis> = {
  read(node, scope, reporter) {
    const written = readText(node, scope, reporter);
    if (written === undefined) return undefined;
    const read = parseDuration(written);
    if (read.ok && read.value >= 0) return read.value;
    const message = read.ok ? `expected a duration of 0 or more, found ${written}` : read.error;
    reporter.error(spotOf(scope, node), "type", message);
    return undefined;
  },
  fromVariable: wholeText,
};

const oneOf = <const T extends string>(...words: readonly T[]): ValueKind<T> => ({
  read(node, scope, reporter) {
    const written = readText(node, scope, reporter);
    const found = words.find((word) => word === written);
    if (written !== undefined && found === undefined) {
      const message = `expected one of ${words.join(", ")}, found ${JSON.stringify(written)}`;
      reporter.error(spotOf(scope, node), "type", message);
    }
    return found;
  },
  fromVariable: wholeText,
});

const texts: ValueKind<readonly string[]> = {
  read: readTexts,
  fromVariable: (words, at) => ({
    kind: "list",
    at,
    items: words.split(",").map((word) => wholeText(word.trim(), at)),
  }),
};

const textMap: ValueKind<ReadonlyMap<string, string>> = { read: readTextMap };

const objects: ValueKind<readonly JsonObject[]> = {
  read(node, scope, { error }) {
    const value = node.kind === "list" ? valueOf(node) : undefined;
    if (Array.isArray(value) && value.every(isJsonObject)) return value;
    error(spotOf(scope, node), "type", `expected list, found ${kindOf(node)}`);
    return undefined;
  },
};

export const keys = {
  /** Part of the names of secrets and of labels, so that installations do not collide. */
  instanceId: text,
  "k8s.context": text,
  "k8s.namespace": text,
  "api.http.bindAddress": text,
  "api.http.cors.allowAllOrigins": truth,
  "api.http.cors.allowOrigins": texts,
  /** Longer lines continue in another line of the log. */
  "logs.maxLineBytes": count,
  /** Default runtime. The host is never chosen silently. */
  "worker.runtime": oneOf("docker", "kubernetes", "host"),
  "worker.steps.docker.image": text,
  "worker.steps.docker.imageTag": text,
  "worker.steps.kubectl.image": text,
  "worker.steps.kubectl.imageTag": text,
  "worker.steps.helm.image": text,
  "worker.steps.helmPackage.image": text,
  "worker.steps.helmPackage.imageTag": text,
  "worker.steps.nugetPackage.image": text,
  "worker.steps.nugetPackage.imageTag": text,
  /** Helper containers of step Pods: fetching the repository and serving artifacts. Both need a shell and `tar`. */
  "worker.steps.init.image": text,
  "worker.steps.init.imageTag": text,
  "worker.steps.artifacts.image": text,
  "worker.steps.artifacts.imageTag": text,
  /** Which step Pods serve artifacts: those that declare some, or all. */
  "worker.artifacts": oneOf("declared", "always"),
  "worker.artifacts.maxFileBytes": count,
  "worker.artifacts.maxFiles": count,
  /** Whether containers get the project as an archive or a bind mount. */
  "worker.docker.repo": oneOf("archive", "bind"),
  "worker.docker.memoryBytes": count,
  "worker.docker.milliCpus": count,
  "worker.docker.builder": oneOf("engine", "kaniko"),
  "worker.host.clusters": textMap,
  /** Compresses archives for distant clusters. */
  "worker.k8s.compress": truth,
  "provisioner.http.bindAddress": text,
  "provisioner.http.cors.allowAllOrigins": truth,
  "provisioner.http.cors.allowOrigins": texts,
  "provisioner.backend": oneOf("host", "docker", "kubernetes"),
  "provisioner.docker.image": text,
  "provisioner.docker.network": text,
  "provisioner.k8s.worker.serviceAccountName": text,
  "provisioner.k8s.worker.initContainer.image": text,
  "provisioner.k8s.worker.initContainer.imageTag": text,
  "provisioner.k8s.worker.initContainer.imagePullPolicy": text,
  "provisioner.k8s.worker.container.image": text,
  "provisioner.k8s.worker.container.imageTag": text,
  "provisioner.k8s.worker.container.imagePullPolicy": text,
  "provisioner.k8s.worker.imagePullSecrets": objects,
  "provisioner.k8s.worker.configMapName": text,
  /** The port of results in worker Pods; change it for Pods in the host network. */
  "provisioner.k8s.worker.port": count,
  "provisioner.k8s.worker.extraEnvs": objects,
  /** Appended to the worker's command. */
  "provisioner.k8s.worker.extraArgs": texts,
  "provisioner.drain": duration,
  "provisioner.maxWorkers": count,
  /** Allows cloning from local paths: callers can then read what the provisioner can. */
  "provisioner.allowLocalRepos": truth,
  "aggregator.wharfApiUrl": text,
  "aggregator.provisionerUrl": text,
  "aggregator.wharfApiTokenFile": text,
  "aggregator.provisionerTokenFile": text,
  "aggregator.workerApiExternalPort": count,
  /** The namespace of Pods created by released provisioners, whose results are transferred too. */
  "aggregator.podNamespace": text,
  "aggregator.maxWorkers": count,
  "watchdog.wharfApiUrl": text,
  "watchdog.provisionerUrl": text,
  "watchdog.wharfApiTokenFile": text,
  "watchdog.provisionerTokenFile": text,
  "watchdog.interval": duration,
  "watchdog.minAge": duration,
  /** How long a build may wait for a worker before it fails. */
  "trigger.deadline": duration,
} as const satisfies Readonly<Record<string, ValueKind<unknown>>>;

export type Key = keyof typeof keys;

export type Configuration = {
  readonly [K in Key]?: (typeof keys)[K] extends ValueKind<infer T> ? T : never;
};

export const keyByLowerCase: ReadonlyMap<string, Key> = new Map(
  (Object.keys(keys) as Key[]).map((key) => [key.toLowerCase(), key]),
);

export const keyByVariable: ReadonlyMap<string, Key> = new Map(
  (Object.keys(keys) as Key[]).map((key) => [`WHARF_${key.replaceAll(".", "_").toUpperCase()}`, key]),
);
