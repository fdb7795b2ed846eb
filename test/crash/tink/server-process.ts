import type { ChildProcess, SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { TinkerbellServerOptions } from "#dialects/tinkerbell/server/server.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { root } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";

/** Starting and ending a program on the busiest machine. */
const programMs = 60_000;

/** A program under test, in one of its lives. */
export interface Life {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** What it says on stderr goes to `said`. */
export const lifeOf = (child: ChildProcess, said: string[]): Life => {
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  return { child, ended: once(child, "exit") };
};

/** As `kill -9` does; resolves when nothing of it is left. */
export async function kill({ child, ended }: Life): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** Starts a program, on this machine or on another one. */
export type Spawn = (program: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

/** What of the API tests use; the answers have come through a process, so that they are copies. */
type Asked = Pick<ApiClient, "get" | "list" | "create" | "delete" | "patch">;

interface Answer {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** The server of `tink-server-program.ts`, killed and started again on what the last one has left in its directory. */
export class ServerProcess {
  readonly said: string[] = [];
  readonly #directory: string;
  readonly #options: TinkerbellServerOptions;
  readonly #spawn: Spawn;
  readonly #kubeconfig: string | undefined;
  readonly #asked = new Map<number, { resolve(value: unknown): void; reject(thrown: Error): void }>();
  #questions = 0;
  #life: Life | undefined;

  /** `kubeconfig`: of the cluster whose API it uses, where it is to have none of its own. */
  constructor(directory: string, options: TinkerbellServerOptions, spawn: Spawn, kubeconfig?: string) {
    [this.#directory, this.#options, this.#spawn, this.#kubeconfig] = [directory, options, spawn, kubeconfig];
  }

  /** Where it was told to listen. */
  get address(): string {
    return this.#options.listen;
  }

  async start(): Promise<void> {
    const program = await bundleProgram(join(import.meta.dirname, "../tink-server-program.ts"));
    const words = [program, this.#directory, join(root, "dist"), JSON.stringify(this.#options)];
    const cluster = this.#kubeconfig === undefined ? [] : [this.#kubeconfig];
    const child = this.#spawn(process.execPath, [...words, ...cluster], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const life = lifeOf(child, this.said);
    this.#life = life;
    const ready = new Promise<void>((resolve) => {
      child.on("message", (answer: Answer) => (answer.id === undefined ? resolve() : this.#answered(answer)));
    });
    const ended = life.ended.then(() => {
      for (const question of this.#asked.values()) question.reject(new Error("the server was killed"));
      this.#asked.clear();
      throw new Error("the server has ended");
    });
    ended.catch(() => undefined);
    await within(programMs, "the server serves agents", Promise.race([ready, ended]), () => this.said.join(""));
  }

  #answered({ id = 0, value, error }: Answer): void {
    const question = this.#asked.get(id);
    this.#asked.delete(id);
    if (error === undefined) question?.resolve(value);
    else question?.reject(new Error(error));
  }

  async kill(): Promise<void> {
    if (this.#life !== undefined) await kill(this.#life);
    this.#life = undefined;
  }

  /** Resolves when it has ended by itself. */
  async ends(): Promise<void> {
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
          if (this.#life === undefined) return reject(new Error("there is no server"));
          this.#asked.set(id, { resolve, reject });
          this.#life.child.send({ id, method, args }, (error) => error !== null && reject(error));
        }),
  });
}
