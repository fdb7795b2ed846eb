import { type Stored, badRequest } from "#kernel/model/index.ts";
import { hasEnded, type Interaction, type PodSessions, type Runtime } from "#kernel/runtimes/index.ts";
import { type PodObject, type ContainerStatus, isFinished, allContainers, allStatuses } from "../pod-types.ts";
import type { ContainerReach, RunningContainer } from "./container-reach.ts";
import { connect, type Socket } from "node:net";
import { messageOf, onAbort, deferred } from "#lib/base/index.ts";
import { newestExecution } from "./container-view.ts";
import { taskId, podPaths } from "./pod-paths.ts";
import { Readable } from "node:stream";
import { type LogStream, readLogs } from "#kernel/streams/index.ts";
import { endOf } from "./pod-logs.ts";

export interface PodSessionsOptions {
  readonly runtime: Runtime;
  readonly reach: ContainerReach;
  readonly directory: string;
}

export function createPodSessions({ runtime, reach, directory }: PodSessionsOptions): PodSessions {
  return {
    async check(object, request, what) {
      await runningContainer(object as Stored<PodObject>, request.container, runtime);
      if (what === "attach") refuseInput(request);
    },
    async exec(object, command, request) {
      const target = await runningContainer(object as Stored<PodObject>, request.container, runtime);
      const interaction = await reach.interact(target, command, request);
      endWith(runtime, target.task, interaction);
      return interaction;
    },
    async attach(object, request) {
      const target = await runningContainer(object as Stored<PodObject>, request.container, runtime);
      // Ends by itself when the container has ended and its output is read.
      return attachToLog(target, request, { directory, runtime });
    },
    async connect(object, port, signal) {
      const address = reach.addressOf(object as Stored<PodObject>);
      if (address === undefined) throw new Error("the pod has no network now");
      return await dial(address, port, signal);
    },
  };
}

function endWith(runtime: Runtime, task: string, interaction: Interaction): void {
  const cancel = runtime.subscribe((status) => {
    if (status.id === task && hasEnded(status)) interaction.kill();
  });
  interaction.ended.then(cancel, cancel);
  const status = runtime.find(task);
  if (status === undefined || hasEnded(status)) interaction.kill();
}

/** Connects by TCP. Rejects with the address and the system's error, or with the signal's reason. */
function dial(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const settle = onAbort(signal, () => void socket.destroy(signal.reason as Error));
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
    socket.once("error", (cause) => {
      settle();
      reject(
        signal.aborted ? (signal.reason as Error) : new Error(`cannot connect to ${host}:${port}: ${messageOf(cause)}`),
      );
    });
  });
}

/** The container's current execution, which must be running. In the words of kubectl and the kubelet. */
async function runningContainer(pod: Stored<PodObject>, name: string, runtime: Runtime): Promise<RunningContainer> {
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

interface AttachOptions {
  readonly directory: string;
  readonly runtime: Runtime;
}

interface AttachRequest {
  readonly container: string;
  readonly stdin: boolean;
  readonly terminal: boolean;
}

function refuseInput({ container, stdin, terminal }: AttachRequest): void {
  if (stdin) throw badRequest(`container ${container} has no stdin to attach: no container here is given one`);
  if (terminal) throw badRequest(`Unable to use a TTY - container ${container} did not allocate one`);
}

/** A container's output from now on, read from its log, until its end or `kill`. Its exit code is always 0. */
function attachToLog(
  { pod, container, task }: RunningContainer,
  request: AttachRequest,
  { directory, runtime }: AttachOptions,
): Interaction {
  refuseInput(request);
  const restart = Number(task.slice(task.lastIndexOf("/") + 1));
  const path = podPaths(directory, pod).log(container.name, restart);
  const gone = new AbortController();
  const outputOf = (stream: LogStream): Readable => {
    const follow = AbortSignal.any([endOf(runtime, task, gone.signal), gone.signal]);
    const lines = readLogs(path, { stream, tailLines: 0, follow, signal: gone.signal });
    const output = Readable.from(lines, { objectMode: false });
    // The first read looks up the start position, which must be that of now.
    output.read(0);
    return output;
  };
  const ended = deferred<number>();
  const [stdout, stderr] = [outputOf("stdout"), outputOf("stderr")];
  let open = 2;
  for (const output of [stdout, stderr]) {
    output.on("error", () => undefined);
    output.once("close", () => {
      open -= 1;
      if (open > 0) return;
      gone.abort();
      ended.resolve(0);
    });
  }
  return { stdout, stderr, ended: ended.promise, resize: () => undefined, kill: () => gone.abort() };
}
