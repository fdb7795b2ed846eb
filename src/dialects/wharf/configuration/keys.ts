import { count, duration, objects, oneOf, text, textMap, texts, truth, type ValueKind } from "./kinds-of-values.ts";

/** All settings there are: where they stand in a file, and what they may be. Those of the original have its names. */
export const keys = {
  /** Part of the names of secrets and of labels; of two installations beside each other each has its own. */
  instanceId: text,
  /** Of the kubeconfig: where steps run as Pods. */
  "k8s.context": text,
  "k8s.namespace": text,
  /** Where wharf-api answers, `HOST:PORT`, and which pages of browsers may use it. */
  "api.http.bindAddress": text,
  "api.http.cors.allowAllOrigins": truth,
  "api.http.cors.allowOrigins": texts,
  /** Longer lines of output go on in a further line of the log. */
  "logs.maxLineBytes": count,
  /** Where steps run when no option says it. A host is never chosen without a word. */
  "worker.runtime": oneOf("docker", "kubernetes", "host"),
  /** Images of the types of steps. A name that brings a tag needs no other. */
  "worker.steps.docker.image": text,
  "worker.steps.docker.imageTag": text,
  "worker.steps.kubectl.image": text,
  "worker.steps.kubectl.imageTag": text,
  /** Its tag is the `helmVersion` of the step. */
  "worker.steps.helm.image": text,
  "worker.steps.helmPackage.image": text,
  "worker.steps.helmPackage.imageTag": text,
  "worker.steps.nugetPackage.image": text,
  "worker.steps.nugetPackage.imageTag": text,
  /** In the Pod of a step: what gets the repository in, and what hands out its artifacts. Both need a shell and `tar`. */
  "worker.steps.init.image": text,
  "worker.steps.init.imageTag": text,
  "worker.steps.artifacts.image": text,
  "worker.steps.artifacts.imageTag": text,
  /** Which Pods have what hands out artifacts: those of steps that name some, or all. */
  "worker.artifacts": oneOf("declared", "always"),
  /** What is kept of a step at most, of each file and in their number. */
  "worker.artifacts.maxFileBytes": count,
  "worker.artifacts.maxFiles": count,
  /** How a container gets its copy of the project: as an archive, or as a mounted directory. */
  "worker.docker.repo": oneOf("archive", "bind"),
  /** What builds the images of `docker` steps. */
  "worker.docker.memoryBytes": count,
  "worker.docker.milliCpus": count,
  "worker.docker.builder": oneOf("engine", "kaniko"),
  /** Kubeconfigs of steps that run as processes, by the name that steps have for the cluster. */
  "worker.host.clusters": textMap,
  /** Archives for clusters that are far away. */
  "worker.k8s.compress": truth,
  /** `HOST:PORT` of its REST interface, and which pages of browsers may use it. */
  "provisioner.http.bindAddress": text,
  "provisioner.http.cors.allowAllOrigins": truth,
  "provisioner.http.cors.allowOrigins": texts,
  /** What workers are: processes of its machine, containers of the engine there, or Pods. */
  "provisioner.backend": oneOf("host", "docker", "kubernetes"),
  /** Containers of workers: their image, and the network that they join. */
  "provisioner.docker.image": text,
  "provisioner.docker.network": text,
  /** Pods of workers: as whom they run, what clones the project, what runs the build. */
  "provisioner.k8s.worker.serviceAccountName": text,
  "provisioner.k8s.worker.initContainer.image": text,
  "provisioner.k8s.worker.initContainer.imageTag": text,
  "provisioner.k8s.worker.initContainer.imagePullPolicy": text,
  "provisioner.k8s.worker.container.image": text,
  "provisioner.k8s.worker.container.imageTag": text,
  "provisioner.k8s.worker.container.imagePullPolicy": text,
  /** Objects in Kubernetes' own words. */
  "provisioner.k8s.worker.imagePullSecrets": objects,
  "provisioner.k8s.worker.configMapName": text,
  /** Where each serves its results in its Pod; another one for Pods in the network of their machine. */
  "provisioner.k8s.worker.port": count,
  "provisioner.k8s.worker.extraEnvs": objects,
  /** For the command of each worker, behind its own. */
  "provisioner.k8s.worker.extraArgs": texts,
  /** How long a worker that is to go serves its results at most. */
  "provisioner.drain": duration,
  /** At once; 0 is without a limit. */
  "provisioner.maxWorkers": count,
  /** Clone from paths of this machine, too: its users can then read what the provisioner can. */
  "provisioner.allowLocalRepos": truth,
  /** Where results are brought to, and where workers are ended then. */
  "aggregator.wharfApiUrl": text,
  "aggregator.provisionerUrl": text,
  /** Files with the token that each of the two asks for. */
  "aggregator.wharfApiTokenFile": text,
  "aggregator.provisionerTokenFile": text,
  /** Where workers serve their results, unless they say it themselves. */
  "aggregator.workerApiExternalPort": count,
  /** Where Pods are that released provisioners have made, whose results are brought, too. */
  "aggregator.podNamespace": text,
  /** Followed at once by one process. */
  "aggregator.maxWorkers": count,
  /** Whose builds are compared with whose workers. */
  "watchdog.wharfApiUrl": text,
  "watchdog.provisionerUrl": text,
  "watchdog.wharfApiTokenFile": text,
  "watchdog.provisionerTokenFile": text,
  /** Between two looks, and how old must be what they act on. */
  "watchdog.interval": duration,
  "watchdog.minAge": duration,
  /** How long a build may be without a worker before it has failed. */
  "trigger.deadline": duration,
} as const satisfies Readonly<Record<string, ValueKind<unknown>>>;

export type Key = keyof typeof keys;

/** What is set; everything else is left to who reads it. Durations are milliseconds. */
export type Configuration = {
  readonly [K in Key]?: (typeof keys)[K] extends ValueKind<infer T> ? T : never;
};

/** Keys are written in any case. */
export const keyByLowerCase: ReadonlyMap<string, Key> = new Map(
  (Object.keys(keys) as Key[]).map((key) => [key.toLowerCase(), key]),
);

/** `WHARF_WORKER_STEPS_DOCKER_IMAGETAG`, of each key that a variable can say. */
export const keyByVariable: ReadonlyMap<string, Key> = new Map(
  (Object.keys(keys) as Key[]).map((key) => [`WHARF_${key.replaceAll(".", "_").toUpperCase()}`, key]),
);
