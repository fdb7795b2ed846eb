// What is said of a worker outside of its results: on the container or Pod it is, where people, `kubectl get -l` and the next provisioner read it.

import { instanceLabel, labelValue } from "../worker/step-labels.ts";
import type { WorkerIdentity } from "./backend.ts";
import type { WorkerRequest } from "./parameters.ts";

/** The resource that the container or Pod was made for. */
export const workerNameLabel = "slipway.dev/worker";
export const workerUidLabel = "slipway.dev/worker-uid";

/** By which workers of released provisioners are found, too. */
const workerSelector = {
  "app.kubernetes.io/name": "wharf-cmd-worker",
  "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
} as const;

/** Labels by which Pods and Secrets of workers are found. */
export const podSelector = Object.entries(workerSelector)
  .map(([name, value]) => `${name}=${value}`)
  .join(",");

/** What the build of a worker is called on it. */
export const buildLabel = "wharf.iver.com/build-ref";
export const projectLabel = "wharf.iver.com/project-id";

/** Labels by which a worker is found: those of the released provisioner, with numbers as they are, and its resource. */
export const workerLabels = (
  { name, uid }: WorkerIdentity,
  { buildRef, projectId, instance }: Pick<WorkerRequest, "buildRef" | "projectId" | "instance">,
): Readonly<Record<string, string>> => ({
  app: "wharf-cmd-worker",
  ...workerSelector,
  "app.kubernetes.io/part-of": "wharf",
  "app.kubernetes.io/created-by": "wharf-cmd-provisioner",
  [instanceLabel]: labelValue(instance),
  [buildLabel]: `${buildRef}`,
  [projectLabel]: `${projectId}`,
  [workerNameLabel]: name,
  [workerUidLabel]: uid,
});
