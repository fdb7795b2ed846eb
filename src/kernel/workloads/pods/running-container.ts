import { badRequest, type Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import { type ContainerStatus, isFinished, type PodObject } from "../pod-types.ts";
import type { RunningContainer } from "./container-reach.ts";
import { taskId } from "./pod-paths.ts";

/** The container's current execution, which must be running. In the words of kubectl and the kubelet. */
export async function runningContainer(
  pod: Stored<PodObject>,
  name: string,
  runtime: Runtime,
): Promise<RunningContainer> {
  const { uid } = pod.metadata;
  if (isFinished(pod)) {
    throw badRequest(`cannot exec into a container in a completed pod; current phase is ${pod.status?.phase}`);
  }
  if (pod.spec.nodeName === undefined) throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (container === undefined) throw badRequest(`container ${name} is not valid for pod ${pod.metadata.name}`);
  await runtime.list(uid);
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const status = statuses.find((one) => one.name === name);
  let restart = status?.restartCount ?? 0;
  // The runtime may be ahead of the stored status.
  while (runtime.find(taskId(uid, name, restart + 1)) !== undefined) restart++;
  const task = taskId(uid, name, restart);
  if (runtime.find(task)?.state.phase !== "running")
    throw badRequest(`container not found ("${name}"): ${whyNot(status)}`);
  return { pod, container, task };
}

function whyNot(status: ContainerStatus | undefined): string {
  const { waiting, terminated } = status?.state ?? {};
  if (terminated !== undefined) return `it has ended with exit code ${terminated.exitCode}`;
  return `it is waiting to start: ${waiting?.reason ?? "ContainerCreating"}`;
}
