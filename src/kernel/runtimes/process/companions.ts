import type { Clock } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import type { Interaction, InteractionOptions } from "../interaction.ts";
import { interactInProcess } from "./interact.ts";
import { Reaper } from "./reaper.ts";
import { onceFoundTools } from "./runner/host-command.ts";
import { MountPoints } from "./runner/mount-points.ts";
import { PipePool } from "./runner/pipe-pool.ts";

/** Commands beside tasks. Children of this process that end with it: their clients are connected to it. */
export class Companions {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #reaper = new Reaper();
  readonly #mountPoints = new MountPoints();
  readonly #tools = onceFoundTools();
  readonly #running = new Set<Interaction>();
  #pipes: Promise<PipePool> | undefined;

  /** `directory` is used for nothing else; its parent must exist when the first command starts. */
  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /** Rejects if no pipe can be opened. */
  async start(task: Task, options: InteractionOptions): Promise<Interaction> {
    const started = await interactInProcess(task, options, {
      clock: this.#clock,
      pipes: await this.#openPipes(),
      namespaceTools: this.#tools,
      mountPoints: this.#mountPoints,
      guard: this.#reaper,
    });
    this.#running.add(started);
    const forget = () => void this.#running.delete(started);
    started.ended.then(forget, forget);
    return started;
  }

  /** Kills all commands without waiting for their end. */
  kill(): void {
    for (const running of this.#running) running.kill();
  }

  async close(): Promise<void> {
    this.kill();
    await Promise.allSettled([...this.#running].map(({ ended }) => ended));
    this.#reaper.close();
    await (await this.#pipes?.catch(() => undefined))?.close();
  }

  /** A failure is not kept: the disk may have room again later. */
  #openPipes(): Promise<PipePool> {
    this.#pipes ??= PipePool.create(this.#directory).catch((thrown: unknown) => {
      this.#pipes = undefined;
      throw thrown;
    });
    return this.#pipes;
  }
}
