import { rm } from "node:fs/promises";
import { type Clock, deferred } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { readLogs, removeLog } from "#kernel/logs/index.ts";
import {
  type ContainerHost,
  type ExecResult,
  hasEnded,
  type Interaction,
  type InteractionOptions,
  type Runtime,
  type Task,
} from "#kernel/runtimes/index.ts";
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
  /** Where the pod's ports are; undefined while it has no network. */
  addressOf(pod: Stored<PodObject>): string | undefined;
  /**
   * Runs a command beside the container's own: among its files, with its variables, as its user. Rejects when it could not be run,
   * with the signal's reason when that aborts.
   */
  exec(target: RunningContainer, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** The same for somebody who holds the command's streams. Rejects when it could not be run. */
  interact(target: RunningContainer, command: readonly string[], options: InteractionOptions): Promise<Interaction>;
}

/**
 * Into containers: the engine runs commands inside of them. `nodeAddress` is where pods on the machine's own network are, and no other: what listens
 * there is not theirs.
 */
export const reachInto = (host: ContainerHost, nodeAddress: string): ContainerReach => ({
  addressOf: ({ metadata, spec }) => (spec.hostNetwork === true ? nodeAddress : host.addressOf(metadata.uid)),
  exec: ({ task }, command, signal) => host.exec(task, command, signal),
  interact: ({ task }, command, options) => host.interact(task, command, options),
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
    const { task, output } = await this.#prepare(target, command);
    signal.throwIfAborted();
    try {
      return await this.#run(task, signal);
    } finally {
      await this.#options.runtime.remove([task.id]);
      await removeLog(task.logPath);
      await rm(output, { force: true });
    }
  }

  async interact(
    target: RunningContainer,
    command: readonly string[],
    options: InteractionOptions,
  ): Promise<Interaction> {
    const { runtime } = this.#options;
    if (runtime.interact === undefined) throw new Error(`the ${runtime.name} runtime has no streams for commands`);
    const { task, output } = await this.#prepare(target, command);
    // What is left behind goes with the pod's directory at the latest.
    const forget = () => void rm(output, { force: true }).catch(() => undefined);
    try {
      const interaction = await runtime.interact(task, options);
      interaction.ended.then(forget, forget);
      return interaction;
    } catch (thrown) {
      forget();
      throw thrown;
    }
  }

  /** A task beside the target's, and the file that it may leave its last word in. */
  async #prepare({ pod, container: { name, ...spec }, task: beside }: RunningContainer, command: readonly string[]) {
    const { runtime, workspace, directory, clock } = this.#options;
    // A name that no container can have gives the command files of its own.
    const container = { ...spec, name: `${name}.exec`, command, args: [] };
    this.#last = Math.max(this.#last + 1, clock.now());
    const number = this.#last;
    const { mounts } = await runtime.capabilities();
    const sources = await workspace.readSources(pod);
    const task = await workspace.prepare(pod, container, number, sources, mounts.supported, { beside });
    if (!task.ok) throw new Error(task.error.message ?? task.error.reason);
    return { task: task.value, output: podPaths(directory, pod).output(container.name, number) };
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
