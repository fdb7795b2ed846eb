import type { Manager } from "#kernel/kit/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { Configuration } from "../../configuration/keys.ts";
import type { WorkerIdentity } from "../backend.ts";
import type { ForwardPort } from "../pod-address.ts";
import { podSelector, workerNameLabel } from "../worker-labels.ts";
import { KubernetesBackend } from "./kubernetes-backend.ts";
import { podSettings } from "./pod-settings.ts";

export interface OpenKubernetesBackend {
  readonly settings: Configuration;
  readonly namespace: string;
  readonly version: string;
  readonly forward: ForwardPort;
  readonly tokenOf: (uid: string) => string;
}

export function openKubernetesBackend(
  manager: Manager,
  { settings, namespace, version, forward, tokenOf }: OpenKubernetesBackend,
): (changed: (worker: WorkerIdentity) => void) => KubernetesBackend {
  const { client, clock, log } = manager;
  const pods = manager.mirror(Pod, { namespace, labelSelector: podSelector });
  return (changed) => {
    const tell = ({ metadata: { labels = {}, uid } }: Stored) => {
      const name = labels[workerNameLabel];
      if (name !== undefined) changed({ namespace, name, uid });
    };
    const leave = pods.addHandler({ add: tell, update: (_old, pod) => tell(pod), delete: tell });
    manager.onStopped(leave);
    return new KubernetesBackend({
      client,
      pods,
      namespace,
      settings: podSettings(settings, version),
      forward,
      tokenOf,
      clock,
      log,
    });
  };
}
