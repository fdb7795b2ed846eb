import { instanceLabel, labelValue } from "../worker/step-labels.ts";
import type { WorkerIdentity } from "./backend.ts";
import type { WorkerRequest } from "./parameters.ts";

export const workerNameLabel = "slipway.dev/worker";
export const workerUidLabel = "slipway.dev/worker-uid";

/** Shared with released provisioners. */
const workerSelector = {
  "app.kubernetes.io/name": "wharf-cmd-worker",
  "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
} as const;

export const podSelector = Object.entries(workerSelector)
  .map(([name, value]) => `${name}=${value}`)
  .join(",");

export const buildLabel = "wharf.iver.com/build-ref";
export const projectLabel = "wharf.iver.com/project-id";

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
