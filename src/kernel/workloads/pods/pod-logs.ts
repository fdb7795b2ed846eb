import { newestExecution } from "./container-view.ts";
import { type Clock, onAbort } from "#lib/base/index.ts";
import type { LogOptions } from "#kernel/kit/index.ts";
import { type LogRequest, readingOf, readLogs } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import { hasEnded, type Runtime } from "#kernel/runtimes/index.ts";
import { type ContainerStatus, isFinished, type PodObject, allContainers, allStatuses } from "../pod-types.ts";
import { podPaths, taskId } from "./pod-paths.ts";

// Which log is shown, and what is said when there is none:
//
//   the container runs or has run      its newest execution; with `previous` the one before
//   it has not started yet             400 `container "c" in pod "p" is waiting to start: <reason>`
//   its pod is over without it         400 `… was never started: <reason of the pod>: <message>`
//   it never restarted, and `previous` 400 `previous terminated container "c" in pod "p" not found`
//   several containers and no name     400 with all names

export type PodLogRequest = LogOptions & LogRequest;

export interface PodLogs {
  readonly numbersLines: boolean;
  /** One container's log. Refusals (`ApiError`) come first. Following ends with container, pod or signal. */
  open(pod: KubeObject, request: PodLogRequest): Promise<AsyncIterable<Uint8Array>>;
}

export interface PodLogsOptions {
  readonly directory: string;
  /** Knows of executions before the status does. */
  readonly runtime: Runtime;
  readonly clock: Clock;
}

export function createPodLogs(options: PodLogsOptions): PodLogs {
  return {
    numbersLines: true,
    async open(object, request) {
      const pod = object as PodObject;
      const container = containerOf(pod, request.container ?? "");
      const { runtime } = options;
      await runtime.list(pod.metadata.uid ?? "");
      const restart = restartOf(pod, container, request.previous === true, runtime);
      const reading = readingOf(request, options.clock);
      const { log } = podPaths(options.directory, pod);
      const path = log(container, restart);
      if (request.follow !== true) return readLogs(path, reading);
      const id = taskId(pod.metadata.uid ?? "", container, restart);
      return readLogs(path, { ...reading, follow: endOf(runtime, id, request.signal) });
    },
  };
}

/** The only container if none is named; init containers do not count. In the API server's words. */
function containerOf({ metadata, spec }: PodObject, asked: string): string {
  const all = allContainers(spec).map(({ name }) => name);
  if (asked === "") {
    const [only, ...others] = spec.containers;
    if (only !== undefined && others.length === 0) return only.name;
    const choice = `choose one of: [${all.join(" ")}]`;
    throw badRequest(`a container name must be specified for pod ${metadata.name ?? ""}, ${choice}`);
  }
  if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${metadata.name ?? ""}`);
  return asked;
}

function restartOf(pod: PodObject, container: string, previous: boolean, runtime: Runtime): number {
  const { uid = "", name = "" } = pod.metadata;
  const status = allStatuses(pod.status).find((one) => one.name === container);
  const restart = newestExecution(runtime, uid, container, status);
  if (previous) {
    if (restart === 0) throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`);
    return restart - 1;
  }
  if (runtime.find(taskId(uid, container, restart)) === undefined && !hasStarted(status)) {
    throw badRequest(`container "${container}" in pod "${name}" ${whyNot(pod, status)}`);
  }
  return restart;
}

function whyNot(pod: PodObject, status: ContainerStatus | undefined): string {
  if (!isFinished(pod)) return `is waiting to start: ${status?.state.waiting?.reason ?? "ContainerCreating"}`;
  const { phase, reason, message } = pod.status ?? {};
  const words = [reason, message].filter((word) => word !== undefined && word !== "");
  return `was never started: ${words.length === 0 ? `the pod is ${phase}` : words.join(": ")}`;
}

const hasStarted = (status: ContainerStatus | undefined): boolean =>
  status !== undefined &&
  (status.restartCount > 0 || status.state.running !== undefined || status.state.terminated !== undefined);

/** Aborts when the task has ended or is unknown. Listens until `signal` aborts. */
export function endOf(runtime: Runtime, id: string, signal: AbortSignal | undefined): AbortSignal {
  const end = new AbortController();
  const task = runtime.find(id);
  if (task === undefined || hasEnded(task)) {
    end.abort();
    return end.signal;
  }
  const cancel = runtime.subscribe((status) => {
    if (status.id !== id || !hasEnded(status)) return;
    cancel();
    end.abort();
  });
  onAbort(signal, cancel);
  return end.signal;
}
