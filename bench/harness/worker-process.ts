import { type ChildProcess, fork } from "node:child_process";
import { within } from "#test/support/within.ts";
import { isSmoke } from "./sizes.ts";

/** No window takes longer; in a smoke run none takes a second. */
const mostMs = isSmoke ? 60_000 : 1_200_000;

/** What a worker answers. */
export interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

export interface WorkerOptions {
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodePath?: string;
}

/** A child process that answers one question at a time. It says something first, when it is ready. */
export class WorkerProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #ready: Promise<unknown>;

  constructor(program: string, args: readonly string[], options: WorkerOptions = {}) {
    this.#name = args[0] ?? program;
    this.#child = fork(program, args, {
      execArgv: [...(options.execArgv ?? [])],
      env: { ...process.env, ...options.env },
      // Peers print much that is of no use here.
      stdio: ["ignore", process.env["VERBOSE"] === undefined ? "ignore" : "inherit", "inherit", "ipc"],
      serialization: "advanced",
      ...(options.nodePath === undefined ? {} : { execPath: options.nodePath }),
    });
    this.#ready = this.#next();
    this.#ready.catch(() => undefined); // Told to whoever asks first.
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  ready(): Promise<unknown> {
    return this.#ready;
  }

  /** Calls a function of the worker's module. */
  async call<T>(method: string, argument?: unknown): Promise<T> {
    await this.#ready;
    const answered = within(mostMs, `${this.#name} answers ${method}`, this.#next());
    this.#child.send({ method, argument });
    const { value, error } = (await answered) as Answer;
    if (error !== undefined) throw new Error(error);
    return value as T;
  }

  /** Ends it without a word, and waits until it is gone. Nothing may be asked at the time. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Asks it to end, and ends it when it does not. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.send({ method: "exit" }, () => undefined);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
  }

  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settle = (): void => void this.#child.off("message", onMessage).off("exit", onExit).off("error", onError);
      const onMessage = (message: unknown) => {
        settle();
        resolve(message);
      };
      const onExit = (code: number | null, signal: string | null) => {
        settle();
        reject(new Error(`the process ended with ${code ?? signal}`));
      };
      const onError = (error: Error) => {
        settle();
        reject(error);
      };
      this.#child.on("message", onMessage).on("exit", onExit).on("error", onError);
    });
  }
}
