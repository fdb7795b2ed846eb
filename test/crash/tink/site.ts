import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { TinkerbellServerOptions } from "#dialects/tinkerbell/server/server.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  root,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";
import { type Cable, layNetwork, Namespace, plugIn, serverAddress } from "./namespace.ts";

/** Starting and ending a program on the busiest machine. */
const programMs = 60_000;
const agentPort = 42_113;

/** A program under test, and what it has said on stderr, in all its lives. */
interface Life {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

const begun = (child: ChildProcess, said: string[]): Life => {
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  return { child, ended: once(child, "exit") };
};

async function killed({ child, ended }: Life): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** What of the API tests use; the answers have come through a process, so that they are copies. */
export type Asked = Pick<ApiClient, "get" | "list" | "create" | "delete" | "patch">;

/** A machine with an agent: the program as a user starts it, with actions that are processes. */
export class AgentMachine {
  readonly id: string;
  readonly directory: string;
  readonly namespace: Namespace;
  readonly cable: Cable;
  readonly said: string[] = [];
  #life: Life | undefined;

  constructor(id: string, directory: string, namespace: Namespace, cable: Cable) {
    [this.id, this.directory, this.namespace, this.cable] = [id, directory, namespace, cable];
  }

  start(...more: readonly string[]): void {
    const server = `${serverAddress}:${agentPort}`;
    const words = ["agent", "--server", server, "--id", this.id, "--runtime", "host", "--state-dir", this.directory];
    // Actions of these tests end when they are let, and not because their grace is over.
    const child = this.namespace.spawn(slipwayBin, [...words, "--stop-grace", "5m", ...more], {
      stdio: ["ignore", "ignore", "pipe"],
      env: cleanEnvironment({ HOME: this.directory }),
    });
    this.#life = begun(child, this.said);
  }

  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    if (life !== undefined) await killed(life);
  }

  signal(name: NodeJS.Signals): void {
    this.#life?.child.kill(name);
  }

  async close(): Promise<void> {
    await this.kill();
    await endRunner(this.directory);
    this.namespace.close();
  }
}

export type SiteOptions = Omit<TinkerbellServerOptions, "listen">;

/** A server, with machines that reach it by cables of their own; all of it goes with `close`. */
export class Site {
  readonly directory: string;
  readonly said: string[] = [];
  readonly #namespace: Namespace;
  readonly #options: SiteOptions;
  readonly #machines: AgentMachine[] = [];
  readonly #asked = new Map<number, { resolve(value: unknown): void; reject(thrown: Error): void }>();
  #questions = 0;
  #cables = 0;
  #life: Life | undefined;

  private constructor(directory: string, namespace: Namespace, options: SiteOptions) {
    [this.directory, this.#namespace, this.#options] = [directory, namespace, options];
  }

  static async open(options: SiteOptions = {}): Promise<Site> {
    const namespace = await Namespace.open();
    await layNetwork(namespace);
    const site = new Site(await temporaryDirectory(), namespace, options);
    await site.startServer();
    return site;
  }

  get holds(): string {
    return join(this.directory, "holds");
  }

  async startServer(): Promise<void> {
    const program = await bundleProgram(join(import.meta.dirname, "../tink-server-program.ts"));
    const options: TinkerbellServerOptions = { listen: `0.0.0.0:${agentPort}`, ...this.#options };
    const words = [program, this.directory, join(root, "dist"), JSON.stringify(options)];
    const child = this.#namespace.spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const life = begun(child, this.said);
    this.#life = life;
    const ready = new Promise<void>((resolve) => {
      child.on("message", (message: { readonly id?: number; readonly value?: unknown; readonly error?: string }) => {
        if (message.id === undefined) return resolve();
        const asked = this.#asked.get(message.id);
        this.#asked.delete(message.id);
        if (message.error === undefined) asked?.resolve(message.value);
        else asked?.reject(new Error(message.error));
      });
    });
    const ended = life.ended.then(() => {
      for (const question of this.#asked.values()) question.reject(new Error("the server was killed"));
      this.#asked.clear();
      throw new Error("the server has ended");
    });
    ended.catch(() => undefined);
    await within(programMs, "the server serves agents", Promise.race([ready, ended]), () => this.said.join(""));
  }

  async killServer(): Promise<void> {
    if (this.#life !== undefined) await killed(this.#life);
    this.#life = undefined;
  }

  /** Resolves when the server has ended by itself. */
  async serverEnds(): Promise<void> {
    await within(programMs, "the server ends", this.#life?.ended ?? Promise.resolve(), () => this.said.join(""));
    this.#life = undefined;
  }

  /** The API, of whichever server is alive. */
  readonly api: Asked = new Proxy({} as Asked, {
    get:
      (_target, method) =>
      (...args: readonly unknown[]) =>
        new Promise((resolve, reject) => {
          const id = (this.#questions += 1);
          this.#asked.set(id, { resolve, reject });
          this.#life?.child.send({ id, method, args }, (error) => error !== null && reject(error));
        }),
  });

  /** A machine with an agent that is not started yet. */
  async machine(id: string, place = id): Promise<AgentMachine> {
    const number = (this.#cables += 1);
    const namespace = await Namespace.open();
    const cable = await plugIn(this.#namespace, namespace, number);
    const directory = join(this.directory, "machines", place);
    await mkdir(directory, { recursive: true });
    const machine = new AgentMachine(id, directory, namespace, cable);
    this.#machines.push(machine);
    return machine;
  }

  async close(): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.close()));
    await this.killServer();
    this.#namespace.close();
    await removeDirectory(this.directory);
  }
}
