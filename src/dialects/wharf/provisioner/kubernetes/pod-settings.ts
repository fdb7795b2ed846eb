import type { JsonObject } from "#lib/base/index.ts";
import type { Configuration } from "../../configuration/keys.ts";
import { workerImage } from "../worker-image.ts";

export interface PodContainer {
  readonly image: string;
  /** Default: the cluster's rule. */
  readonly imagePullPolicy?: string | undefined;
}

export interface PodSettings {
  readonly serviceAccountName: string;
  readonly init: PodContainer;
  readonly app: PodContainer;
  /** Kubernetes objects. */
  readonly imagePullSecrets: readonly JsonObject[];
  readonly extraEnvs: readonly JsonObject[];
  readonly extraArgs: readonly string[];
  readonly port: number;
  readonly configMapName?: string | undefined;
}

type ContainerName = "initContainer" | "container";

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
