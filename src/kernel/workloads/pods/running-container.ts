import { newestExecution } from "./container-view.ts";
import { badRequest, type Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import { type ContainerStatus, isFinished, type PodObject, allContainers, allStatuses } from "../pod-types.ts";
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
  const container = allContainers(pod.spec).find((one) => one.name === name);
  if (container === undefined) throw badRequest(`container ${name} is not valid for pod ${pod.metadata.name}`);
  await runtime.list(uid);
  const status = allStatuses(pod.status).find((one) => one.name === name);
  const task = taskId(uid, name, newestExecution(runtime, uid, name, status));
  if (runtime.find(task)?.state.phase !== "running")
    throw badRequest(`container not found ("${name}"): ${whyNot(status)}`);
  return { pod, container, task };
}

function whyNot(status: ContainerStatus | undefined): string {
  const { waiting, terminated } = status?.state ?? {};
  if (terminated !== undefined) return `it has ended with exit code ${terminated.exitCode}`;
  return `it is waiting to start: ${waiting?.reason ?? "ContainerCreating"}`;
}
