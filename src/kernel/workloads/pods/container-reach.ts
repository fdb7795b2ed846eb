import { rm } from "node:fs/promises";
import { type Clock, deferred, onAbort } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { readLogs, removeLog } from "#kernel/streams/index.ts";
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
import { processAddress } from "./process-address.ts";
import type { Workspace } from "./workspace.ts";

/** A running container, for its probes and hooks. */
export interface RunningContainer {
  readonly pod: Stored<PodObject>;
  readonly container: Container;
  readonly task: string;
}

/** The result of a probe or hook; `message` is in the kubelet's words. */
export type Knock = { readonly succeeded: true } | { readonly succeeded: false; readonly message: string };

/** How probes and hooks reach a container on any runtime. */
export interface ContainerReach {
  /** Undefined while the pod has no network. */
  addressOf(pod: Stored<PodObject>): string | undefined;
  /** Runs a command as in the container. Rejects if it cannot be run, and with the signal's reason. */
  exec(target: RunningContainer, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** The same with streams. Rejects if the command cannot be run. */
  interact(target: RunningContainer, command: readonly string[], options: InteractionOptions): Promise<Interaction>;
}

/** Runs commands in containers. `nodeAddress`: address of pods on the host network; other listeners are not theirs. */
export const reachInto = (host: ContainerHost, nodeAddress: string): ContainerReach => ({
  addressOf: ({ metadata, spec }) => (spec.hostNetwork === true ? nodeAddress : host.addressOf(metadata.uid)),
  exec: ({ task }, command, signal) => host.exec(task, command, signal),
  interact: ({ task }, command, options) => host.interact(task, command, options),
});

const keptOutput = 4_096;

export interface ProcessReachOptions {
  readonly runtime: Runtime;
  readonly workspace: Workspace;
  readonly directory: string;
  readonly nodeAddress: string;
  readonly clock: Clock;
}

/** Runs commands as tasks beside their container, forgotten at their end. Ids follow the clock, so none is reused. */
export class ProcessReach implements ContainerReach {
  readonly #options: ProcessReachOptions;
  #last = 0;

  constructor(options: ProcessReachOptions) {
    this.#options = options;
  }

  addressOf(pod: PodObject): string {
    return processAddress(pod, this.#options.nodeAddress);
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

  async #prepare({ pod, container: { name, ...spec }, task: beside }: RunningContainer, command: readonly string[]) {
    const { runtime, workspace, directory, clock } = this.#options;
    // No container can have this name, which gives the command files of its own.
    const container = { ...spec, name: `${name}.exec`, command, args: [] };
    this.#last = Math.max(this.#last + 1, clock.now());
    const number = this.#last;
    const { mounts } = await runtime.capabilities();
    const sources = await workspace.readSources(pod);
    const made = { beside, address: this.addressOf(pod) };
    const task = await workspace.prepare(pod, container, number, sources, mounts.supported, made);
    if (!task.ok) throw new Error(task.error.message ?? task.error.reason);
    return { task: task.value, output: podPaths(directory, pod).output(container.name, number) };
  }

  async #run(task: Task, signal: AbortSignal): Promise<ExecResult> {
    const { runtime } = this.#options;
    const over = deferred<void>();
    const cancel = runtime.subscribe((status) => {
      if (status.id === task.id && hasEnded(status)) over.resolve();
    });
    try {
      if (!hasEnded(await runtime.start(task))) {
        const removeListener = onAbort(signal, () => void runtime.stop(task.id, 0).catch(over.reject));
        await over.promise.finally(removeListener);
      }
      signal.throwIfAborted();
      return await resultOf(runtime, task);
    } finally {
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
