import type { JsonObject } from "#lib/base/index.ts";
import type { Configuration } from "../../configuration/keys.ts";
import { workerImage } from "../worker-image.ts";

/** One of the two containers of a worker's Pod, as far as it is somebody's choice. */
export interface PodContainer {
  readonly image: string;
  /** The cluster's own rule when absent. */
  readonly imagePullPolicy?: string | undefined;
}

/** What a provisioner is set to about Pods of its workers. */
export interface PodSettings {
  readonly serviceAccountName: string;
  /** Clones. */
  readonly init: PodContainer;
  /** Builds. */
  readonly app: PodContainer;
  /** Objects in Kubernetes' own words, and so are variables. */
  readonly imagePullSecrets: readonly JsonObject[];
  readonly extraEnvs: readonly JsonObject[];
  /** Behind the options of `slipway wharf run`. */
  readonly extraArgs: readonly string[];
  /** Where results are served. */
  readonly port: number;
  /** A ConfigMap whose members are files with settings of the worker. */
  readonly configMapName?: string | undefined;
}

type ContainerName = "initContainer" | "container";

/** Settings of files and variables, and what is usual where they say nothing: one image of this program's version for both containers. */
export function podSettings(settings: Configuration, version: string): PodSettings {
  return {
    serviceAccountName: settings["provisioner.k8s.worker.serviceAccountName"] ?? "wharf-cmd",
    init: containerOf("initContainer", settings, version),
    app: containerOf("container", settings, version),
    imagePullSecrets: settings["provisioner.k8s.worker.imagePullSecrets"] ?? [],
    extraEnvs: settings["provisioner.k8s.worker.extraEnvs"] ?? [],
    extraArgs: settings["provisioner.k8s.worker.extraArgs"] ?? [],
    port: settings["provisioner.k8s.worker.port"] ?? 5010,
    configMapName: settings["provisioner.k8s.worker.configMapName"],
  };
}

/** A name without a tag is of this version; one that brings its own needs none. */
function containerOf(name: ContainerName, settings: Configuration, version: string): PodContainer {
  const image = settings[`provisioner.k8s.worker.${name}.image`];
  const tag = settings[`provisioner.k8s.worker.${name}.imageTag`];
  const usual = workerImage(version);
  const [usualName = "", usualTag = ""] = usual.split(":");
  const isWhole = tag === undefined && image !== undefined && /[:@][^/]*$/.test(image);
  return {
    image: isWhole ? image : `${image ?? usualName}:${tag ?? usualTag}`,
    imagePullPolicy: settings[`provisioner.k8s.worker.${name}.imagePullPolicy`],
  };
}
