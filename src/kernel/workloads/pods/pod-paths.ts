import { join } from "node:path";
import type { PodObject } from "../pod-types.ts";

// Under the pod runner's directory:
//
//   pods/<uid>/work                          where containers without a workingDir run
//   pods/<uid>/volumes/<volume>              what is mounted
//   pods/<uid>/artifacts                     what it takes and leaves
//   pods/<uid>/artifacts-made                once all it takes is there
//   pods/<uid>/parts/<container>/<restart>/<n>  what a mount shows of a volume in part
//   pods/<uid>/output/<container>/<restart>  termination messages
//   logs/<namespace>/<pod>/<uid>/<container>/<restart>.log

/** Names in Kubernetes have no slash, so that none leads to another pod's files. */
export interface PodPaths {
  readonly pod: string;
  readonly work: string;
  /** `$SLIPWAY_ARTIFACTS` of its containers. */
  readonly artifacts: string;
  /** A marker that no container sees: the artifacts are in place. */
  readonly artifactsMade: string;
  readonly logs: string;
  readonly volume: (name: string) => string;
  readonly parts: (task: string) => string;
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
    artifacts: join(own, "artifacts"),
    artifactsMade: join(own, "artifacts-made"),
    logs,
    volume: (volume) => join(own, "volumes", volume),
    parts: (task) => join(own, "parts", task.slice(task.indexOf("/") + 1)),
    output: (container, restart) => join(own, "output", container, `${restart}`),
    log: (container, restart) => join(logs, container, `${restart}.log`),
  };
}

/** Identifies one execution of one container for ever. */
export const taskId = (uid: string, container: string, restart: number): string => `${uid}/${container}/${restart}`;
export const uidOfTask = (id: string): string => id.slice(0, id.indexOf("/"));
