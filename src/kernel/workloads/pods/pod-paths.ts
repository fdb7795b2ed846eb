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

/** Where a pod's things are. Names in Kubernetes cannot hold a slash, so no name leads to another pod's things. */
export interface PodPaths {
  /** Everything that goes when the pod ends. */
  readonly pod: string;
  readonly work: string;
  /** What its containers find under `$SLIPWAY_ARTIFACTS`. */
  readonly artifacts: string;
  /** Nothing but a name, which no container sees: from then on the artifacts are the containers' own. */
  readonly artifactsMade: string;
  /** All logs of the pod, which stay when it ends. */
  readonly logs: string;
  readonly volume: (name: string) => string;
  /** What the mounts of one execution show of volumes in part; `task` is its id. */
  readonly parts: (task: string) => string;
  /** What a container's process writes as its termination message. */
  readonly output: (container: string, restart: number) => string;
  readonly log: (container: string, restart: number) => string;
}

/** Its entries are uids of pods. */
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

/** Identifies one execution of one container for ever: a pod that is made again under its old name has another uid. */
export const taskId = (uid: string, container: string, restart: number): string => `${uid}/${container}/${restart}`;

/** Of any task id of the pod runner's, hooks included. */
export const uidOfTask = (id: string): string => id.slice(0, id.indexOf("/"));
