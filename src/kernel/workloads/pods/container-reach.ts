import { rm } from "node:fs/promises";
import { type Clock, deferred } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { readLogs, removeLog } from "#kernel/logs/index.ts";
import { type ContainerHost, type ExecResult, hasEnded, type Runtime, type Task } from "#kernel/runtimes/index.ts";
import type { Container, PodObject } from "../pod-types.ts";
import { podPaths } from "./pod-paths.ts";
import type { Workspace } from "./workspace.ts";

/** A container that runs, as its probes and hooks know it. */
export interface RunningContainer {
  readonly pod: Stored<PodObject>;
  readonly container: Container;
  /** Of its present execution. */
  readonly task: string;
}

/** How probes and hooks come to a container, on whatever it runs. */
export interface ContainerReach {
  /** Where the pod's ports are. */
  addressOf(pod: Stored<PodObject>): string;
  /**
   * Runs a command beside the container's own: among its files, with its variables, as its user. Rejects when it could not be run,
   * with the signal's reason when that aborts.
   */
  exec(target: RunningContainer, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
}

/** Into containers: the engine runs commands inside of them. `nodeAddress` is where pods on the machine's own network are. */
export const reachInto = (host: ContainerHost, nodeAddress: string): ContainerReach => ({
  addressOf: ({ metadata }) => host.addressOf(metadata.uid) ?? nodeAddress,
  exec: ({ task }, command, signal) => host.exec(task, command, signal),
});

/** Of a command's output this much is told to people. */
const keptOutput = 4_096;

export interface ProcessReachOptions {
  readonly runtime: Runtime;
  readonly workspace: Workspace;
  readonly directory: string;
  readonly nodeAddress: string;
  readonly clock: Clock;
}

/**
 * Beside processes: a command is a task of its own, made as its container's is. It is ended with the signal, and forgotten with its
 * output as soon as it has ended. Ids come from the clock, so that those of an earlier process are not used again.
 */
export class ProcessReach implements ContainerReach {
  readonly #options: ProcessReachOptions;
  #last = 0;

  constructor(options: ProcessReachOptions) {
    this.#options = options;
  }

  addressOf(): string {
    return this.#options.nodeAddress;
  }

  async exec(target: RunningContainer, command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const { runtime, workspace, directory, clock } = this.#options;
    const { pod } = target;
    // A name that no container can have gives the command files of its own.
    const container = { ...target.container, name: `${target.container.name}.exec`, command, args: [] };
    this.#last = Math.max(this.#last + 1, clock.now());
    const number = this.#last;
    const { mounts } = await runtime.capabilities();
    const sources = await workspace.readSources(pod);
    const task = await workspace.prepare(pod, container, number, sources, mounts.supported, { beside: target.task });
    if (!task.ok) throw new Error(task.error.message ?? task.error.reason);
    signal.throwIfAborted();
    try {
      return await this.#run(task.value, signal);
    } finally {
      await runtime.remove([task.value.id]);
      await removeLog(task.value.logPath);
      await rm(podPaths(directory, pod).output(container.name, number), { force: true });
    }
  }

  async #run(task: Task, signal: AbortSignal): Promise<ExecResult> {
    const { runtime } = this.#options;
    const over = deferred<void>();
    const cancel = runtime.subscribe((status) => {
      if (status.id === task.id && hasEnded(status)) over.resolve();
    });
    const kill = () => void runtime.stop(task.id, 0).catch(over.reject);
    try {
      if (!hasEnded(await runtime.start(task))) {
        signal.addEventListener("abort", kill, { once: true });
        if (signal.aborted) kill();
        await over.promise;
      }
      signal.throwIfAborted();
      return await resultOf(runtime, task);
    } finally {
      signal.removeEventListener("abort", kill);
      cancel();
    }
  }
}

async function resultOf(runtime: Runtime, { id, logPath }: Task): Promise<ExecResult> {
  const state = runtime.find(id)?.state;
  const outcome = state?.phase === "ended" ? state.outcome : undefined;
  if (outcome?.kind === "not-started") return { code: outcome.code, output: outcome.message };
  if (outcome?.kind !== "exited") throw new Error(outcome?.message ?? "the command was forgotten");
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(logPath, { limitBytes: keptOutput })) pieces.push(piece);
  return { code: outcome.code, output: Buffer.concat(pieces).toString("utf8") };
}
