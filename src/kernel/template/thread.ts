import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { type Deferred, deferred, SlipwayError, toError } from "#lib/base/index.ts";
import type { ThreadAnswer, ThreadMessage, ThreadStart } from "./protocol.ts";

/** One thread as the pool sees it: starts, answers one question at a time, ends. */
export interface TemplateThread {
  /** Rejects when the thread cannot start, or is ended before it has. */
  readonly ready: Promise<void>;
  /** One question at a time, after `ready`. Rejects when the thread ends before it has answered. */
  ask(question: string): Promise<ThreadAnswer>;
  /** Also in the middle of a question. Resolves when the thread is gone. */
  end(): Promise<void>;
}

/** Where the parts of the module lie. */
export interface ModuleFiles {
  /** The thread's program, as a file of JavaScript. */
  readonly program: string;
  /** The compressed module. */
  readonly artifact: string;
}

/** Returns what starts a thread. The first one compiles the module, those after it get it compiled. */
export function threadStarter({ program, artifact }: ModuleFiles): () => TemplateThread {
  let module: WebAssembly.Module | undefined;
  return () =>
    // A thread takes absolute paths only.
    new WorkerThread(resolve(program), { artifact, module }, (compiled) => {
      module = compiled;
    });
}

class WorkerThread implements TemplateThread {
  readonly #worker: Worker;
  readonly #ready = deferred<void>();
  #asked: Deferred<ThreadAnswer> | undefined;

  constructor(program: string, start: ThreadStart, keep: (module: WebAssembly.Module) => void) {
    this.#worker = new Worker(program, {
      workerData: start,
      // Neither our environment, which may hold secrets, nor options of Node that are about the whole process.
      env: {},
      execArgv: [],
    });
    this.#worker.on("message", (message: ThreadMessage) => {
      if (message.kind !== "ready") return this.#settle(message);
      if (message.module !== undefined) keep(message.module);
      this.#ready.resolve();
    });
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the thread has ended")));
    // Whoever waits for an answer keeps the process alive, not the thread. A listener for messages takes this back, so it comes last.
    this.#worker.unref();
    // Whoever waits hears of it; when nobody does, nothing is lost.
    this.#ready.promise.catch(() => undefined);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  ask(question: string): Promise<ThreadAnswer> {
    this.#asked = deferred();
    this.#worker.postMessage(question, []);
    return this.#asked.promise;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(answer: ThreadAnswer): void {
    this.#asked?.resolve(answer);
    this.#asked = undefined;
  }

  #fail(thrown: unknown): void {
    const cause = toError(thrown);
    this.#ready.reject(
      new SlipwayError("template-module", `the template module does not start: ${cause.message}`, { cause }),
    );
    this.#asked?.reject(cause);
    this.#asked = undefined;
  }
}
