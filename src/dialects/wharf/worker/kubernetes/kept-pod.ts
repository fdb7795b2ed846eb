import { isJsonObject } from "#lib/base/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import { artifactsDirectory } from "../docker/container-words.ts";
import type { Cluster } from "./cluster.ts";
import { stepSelector } from "./leftovers.ts";
import { containerState } from "./pod-state.ts";
import { keepAnnotation, podContainers } from "./step-pod.ts";

export interface StepOfBuild {
  readonly instance: string;
  readonly buildId: number;
  readonly stepId: number;
}

export interface KeptPod {
  readonly name: string;
  /** Whether a shell can be opened: the sidecar ends after a day. */
  readonly isOpen: boolean;
  readonly directory: string;
}

/** The newest kept Pod of the step, because build numbers may be reused. */
export async function findKeptPod(
  { client, namespace }: Pick<Cluster, "client" | "namespace">,
  { instance, buildId, stepId }: StepOfBuild,
): Promise<KeptPod | undefined> {
  const labelSelector = `${stepSelector(instance)},wharf.iver.com/build-ref=${buildId},wharf.iver.com/step-id=${stepId}`;
  const { items } = await client.list(Pod, { namespace, labelSelector });
  const [youngest] = items
    .filter(({ metadata: { annotations } }) => annotations?.[keepAnnotation] !== undefined)
    .sort((one, other) => madeAt(other).localeCompare(madeAt(one)));
  if (youngest === undefined) return undefined;
  return {
    name: youngest.metadata.name,
    isOpen: containerState(youngest, podContainers.artifacts).is === "running",
    directory: workdirOf(youngest),
  };
}

/** Runs in the sidecar, because the step's own container has ended. */
export const shellBeside = ({
  directory,
}: KeptPod): { readonly container: string; readonly command: readonly string[] } => ({
  container: podContainers.artifacts,
  command: [
    "/bin/sh",
    "-c",
    'cd "$1" && export WHARF_ARTIFACTS_DIR="$2" && exec /bin/sh',
    "shell",
    directory,
    artifactsDirectory,
  ],
});

const madeAt = ({ metadata }: Stored): string => metadata.creationTimestamp;

function workdirOf({ spec }: Stored): string {
  const containers = isJsonObject(spec) && Array.isArray(spec["containers"]) ? spec["containers"] : [];
  const step = containers.filter(isJsonObject).find(({ name }) => name === podContainers.step);
  return typeof step?.["workingDir"] === "string" ? step["workingDir"] : "/";
}
