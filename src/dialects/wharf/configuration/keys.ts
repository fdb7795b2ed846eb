import { count, duration, objects, oneOf, text, textMap, texts, truth, type ValueKind } from "./kinds-of-values.ts";

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
