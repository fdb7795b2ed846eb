import { join } from "node:path";
import type { PodObject } from "../pod-types.ts";

/** Where a pod's things are, under the pod runner's directory. Names in Kubernetes cannot hold a slash. */
export interface PodPaths {
  readonly pod: string;
  readonly work: string;
  readonly logs: string;
  readonly volume: (name: string) => string;
  /** What a container's process writes as its termination message. */
  readonly output: (container: string, restart: number) => string;
  readonly log: (container: string, restart: number) => string;
}

export const podsDirectory = (root: string): string => join(root, "pods");
export const logsDirectory = (root: string): string => join(root, "logs");

export function podPaths(root: string, pod: PodObject): PodPaths {
  const { uid = "", name = "", namespace = "" } = pod.metadata;
  const own = join(podsDirectory(root), uid);
  const logs = join(logsDirectory(root), namespace, name, uid);
  return {
    pod: own,
    work: join(own, "work"),
    logs,
    volume: (volume) => join(own, "volumes", volume),
    output: (container, restart) => join(own, "output", container, `${restart}`),
    log: (container, restart) => join(logs, container, `${restart}.log`),
  };
}

/** Identifies one execution of one container for ever. */
export const taskId = (uid: string, container: string, restart: number): string => `${uid}/${container}/${restart}`;

export const uidOfTask = (id: string): string => id.slice(0, id.indexOf("/"));
