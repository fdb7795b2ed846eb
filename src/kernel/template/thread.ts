import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { type Deferred, deferred, type Millis, SlipwayError, toError } from "#lib/base/index.ts";
import type { ThreadAnswer, ThreadMessage, ThreadStart } from "./protocol.ts";

export interface TemplateThread {
  /** Rejects if the thread cannot start or is ended before. */
  readonly ready: Promise<void>;
  /** One question at a time, after `ready`. Rejects if the thread ends before the answer. */
  ask(question: string): Promise<ThreadAnswer>;
  /** Processor time of the thread so far; undefined where the system does not tell. */
  cpuMs(): Millis | undefined;
  /** Also during a question. Resolves when the thread is gone. */
  end(): Promise<void>;
}

export interface ModuleFiles {
  /** JavaScript. */
  readonly program: string;
  readonly artifact: string;
}

/** The first thread compiles the module for all. */
export function threadStarter({ program, artifact }: ModuleFiles): () => TemplateThread {
  let module: WebAssembly.Module | undefined;
  return () =>
    // Worker takes absolute paths only.
    new WorkerThread(resolve(program), { artifact, module }, (compiled) => {
      module = compiled;
    });
}

class WorkerThread implements TemplateThread {
  readonly #worker: Worker;
  readonly #ready = deferred<void>();
  #asked: Deferred<ThreadAnswer> | undefined;
  #taskId: string | undefined;

  constructor(program: string, start: ThreadStart, keep: (module: WebAssembly.Module) => void) {
    this.#worker = new Worker(program, {
      workerData: start,
      // Not the environment, which may hold secrets, nor process-wide Node options.
      env: {},
      execArgv: [],
    });
    this.#worker.on("message", (message: ThreadMessage) => {
      if (message.kind !== "ready") return this.#settle(message);
      if (message.module !== undefined) keep(message.module);
      this.#taskId = message.taskId;
      this.#ready.resolve();
    });
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the thread has ended")));
    // Callers keep the process alive, not the thread. Last, because adding a message listener refs it again.
    this.#worker.unref();
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

  cpuMs(): Millis | undefined {
    if (this.#taskId === undefined) return undefined;
    try {
      // See proc(5): utime and stime are fields 14 and 15, in hundredths of a second; field 2 may hold blanks.
      const fields = readFileSync(`/proc/self/task/${this.#taskId}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    } catch {
      return undefined;
    }
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
