import { join } from "node:path";
import { messageOf, type Millis } from "#lib/base/index.ts";
import { exists, newUid } from "#lib/base/index.node.ts";
import {
  type ContainerHost,
  plainSandbox,
  plainSetup,
  type Runtime,
  type Task,
  type TaskOutcome,
} from "#kernel/runtimes/index.ts";
import { serverCloses } from "./contexts-controller.ts";
import { type EmbeddedOptions, runInContainer } from "./embedded.ts";
import { type ContextEngine, variablesOf } from "./engine.ts";
import { idle, type Programs } from "./programs.ts";
import type { WantedAgent } from "./wanted.ts";

export interface DockerEngineOptions extends EmbeddedOptions {
  /** Called once, with the first context. Its tasks and sandboxes are this engine's alone. */
  readonly openRuntime: () => Promise<Runtime>;
  /** Absolute; for logs of containers. */
  readonly directory: string;
}

/** For an agent to report its job. */
const stopGrace: Millis = 15_000;

/**
 * Contexts with `Engine: docker-context`: a container on the machine's network for each agent. Task ids begin with the
 * agent's key, by which a later server finds them.
 */
export class DockerContexts implements ContextEngine {
  readonly #options: DockerEngineOptions;
  #opened: Promise<Runtime> | undefined;

  constructor(options: DockerEngineOptions) {
    this.#options = options;
  }

  async run(agent: WantedAgent, signal: AbortSignal): Promise<void> {
    const runtime = await this.#open();
    const { containers } = runtime;
    if (containers === undefined) throw new Error("the runtime has no containers");
    await this.#removeOthers(runtime, agent);
    const left = (await runtime.list(agent.key)).find(({ state }) => state.phase === "running")?.id;
    const id = left ?? (await this.#startContainer(agent, runtime, containers, signal));
    try {
      if (agent.isExternal) return await untilEnded(runtime, id, signal);
      const ended = untilEnded(runtime, id, signal);
      await runInContainer(agent, { programs: programsIn(containers, id), ended }, this.#options, signal);
    } finally {
      const continues = agent.isExternal && signal.reason === serverCloses;
      if (!continues) await this.#remove(runtime, containers, agent.key);
    }
  }

  async sweep(kept: ReadonlySet<string>): Promise<void> {
    // The directory of logs shows that there have been containers. Without any there may be no engine.
    if (kept.size === 0 && !(await exists(this.#options.directory))) return;
    const runtime = await this.#open();
    const { containers } = runtime;
    if (containers === undefined) return;
    const owners = (await runtime.list()).map(({ id }) => id.split("/")[0] ?? "");
    for (const key of new Set([...owners, ...(await containers.sandboxes())]))
      if (!kept.has(key)) await this.#remove(runtime, containers, key);
  }

  async close(): Promise<void> {
    await (await this.#opened?.catch(() => undefined))?.close();
  }

  #open(): Promise<Runtime> {
    this.#opened ??= this.#options.openRuntime().catch((thrown: unknown) => {
      // The engine may be started later.
      this.#opened = undefined;
      throw thrown;
    });
    return this.#opened;
  }

  /** Scripts of an embedded agent continue in its container when the server is killed, so that it is replaced. */
  async #removeOthers(runtime: Runtime, { key, isExternal }: WantedAgent): Promise<void> {
    const left = await runtime.list(key);
    const kept = isExternal ? left.find(({ state }) => state.phase === "running")?.id : undefined;
    for (const { id } of left.filter((task) => task.id !== kept)) await endTask(runtime, id, 0);
  }

  async #startContainer(
    agent: WantedAgent,
    runtime: Runtime,
    containers: ContainerHost,
    signal: AbortSignal,
  ): Promise<string> {
    const { id: image } = (await containers.findImage(agent.image)) ?? (await containers.pull(agent.image, [], signal));
    const { key, machineName: hostname } = agent;
    // The server may listen on loopback only.
    await containers.openSandbox(plainSandbox(key, { namespace: "rebar", hostname, hostNetwork: true, names: [] }));
    const task = this.#taskOf(agent, image);
    const { state } = await runtime.start(task);
    if (state.phase === "ended") throw new Error(wordsOf(state.outcome));
    return task.id;
  }

  #taskOf(agent: WantedAgent, image: string): Task {
    const { access, directory } = this.#options;
    return {
      id: `${agent.key}/agent/${newUid()}`,
      command: agent.isExternal ? [agent.image] : idle,
      env: agent.isExternal ? variablesOf(agent, access) : {},
      maskedVariables: ["RS_TOKEN"],
      workingDirectory: "/",
      logPath: join(directory, `${agent.key}.log`),
      container: plainSetup(image, agent.key, agent.isExternal ? {} : { command: idle }),
    };
  }

  async #remove(runtime: Runtime, containers: ContainerHost, key: string): Promise<void> {
    try {
      for (const { id } of await runtime.list(key)) await endTask(runtime, id, stopGrace);
      await containers.closeSandbox(key);
    } catch (thrown) {
      this.#options.log.warn("the container of a context could not be removed", { error: messageOf(thrown) });
    }
  }
}

const programsIn = (containers: ContainerHost, task: string): Programs => ({
  async start(command, stdin) {
    const running = await containers.interact(task, command, { stdin: stdin !== undefined, terminal: false });
    running.stdin?.end(stdin);
    const { PassThrough } = await import("node:stream");
    const output = new PassThrough();
    running.stderr?.pipe(output, { end: false });
    running.stdout.pipe(output);
    return { output, ended: running.ended, kill: () => running.kill() };
  },
});

async function endTask(runtime: Runtime, id: string, grace: Millis): Promise<void> {
  await runtime.stop(id, grace);
  await untilEnded(runtime, id);
  await runtime.remove([id]);
}

/** Resolves when the task has ended, or with the signal. */
function untilEnded(runtime: Runtime, id: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const phase = runtime.find(id)?.state.phase;
      if (phase !== undefined && phase !== "ended" && signal?.aborted !== true) return;
      cancel();
      signal?.removeEventListener("abort", look);
      resolve();
    };
    const cancel = runtime.subscribe(look);
    signal?.addEventListener("abort", look, { once: true });
    look();
  });
}

const wordsOf = (outcome: TaskOutcome): string =>
  outcome.kind === "exited" ? `the container ended with ${outcome.code}` : outcome.message;
