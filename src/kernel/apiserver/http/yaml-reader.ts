import { Worker } from "node:worker_threads";
import { type Cancel, type Clock, codeOf, type Millis, toError } from "#lib/base/index.ts";
import { ApiError, type StatusReason, tooLarge, tooManyRequests } from "#kernel/model/index.ts";
import type { DecodedBody } from "./body.ts";
import type { BodyPieces } from "./body-pieces.ts";
import { decodePlainYaml, decodeYaml, type YamlAsJson, type YamlLimits } from "./yaml-body.ts";

// YAML takes a hundred times JSON's resources, so all but small plain texts go to a thread that can be stopped.

export interface YamlQuestion {
  readonly bytes: Uint8Array;
  readonly limits: YamlLimits;
}

/** The document as JSON (undefined when empty), or a refusal. */
export type YamlAnswer =
  | { readonly document: YamlAsJson | undefined }
  | { readonly refused: StatusReason; readonly message: string };

export interface YamlReaderOptions {
  /** The thread's JavaScript file; without it everything is read in this thread, for tests. */
  readonly program: string | undefined;
  readonly clock: Clock;
  readonly limits: YamlLimits;
  /** Plain texts up to this size are read in this thread. */
  readonly smallBytes?: number;
  /** Of all waiting texts; more are refused with 429. */
  readonly maxWaitingBytes?: number;
  /** Time for one text, after which the thread is stopped. */
  readonly budgetMs?: Millis;
  /** Idle time after which the thread is stopped. */
  readonly idleMs?: Millis;
  /** The thread's heap in MB; the largest text within the limits takes 180. */
  readonly maxHeapMb?: number;
}

const defaults = {
  // At most 1.5 ms; the thread takes 1 ms, and 60 to start.
  smallBytes: 4 * 1024,
  maxWaitingBytes: 8 * 1024 * 1024,
  // Thirty times what the largest text takes on an idle machine.
  budgetMs: 60_000,
  idleMs: 10_000,
  maxHeapMb: 256,
};

/** The document of a text; the thread's result is JSON still to be parsed. */
export type YamlDocument = DecodedBody | (YamlAsJson & { readonly json: Buffer });

interface Task {
  readonly text: BodyPieces;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  readonly settle: (document: YamlDocument) => void;
  readonly fail: (reason: Error) => void;
}

/** One text at a time, small ones first. 413 for a text that takes too much time or memory. */
export class YamlReader {
  readonly #options: YamlReaderOptions & typeof defaults;
  readonly #waiting: Task[] = [];
  #waitingBytes = 0;
  #worker: Worker | undefined;
  #current: Task | undefined;
  /** The time limit of the current text, or of idleness. */
  #cancelTimer: Cancel = () => undefined;

  constructor(options: YamlReaderOptions) {
    this.#options = { ...defaults, ...options };
  }

  /** Throws 429 when a text of this size could not wait now. Small ones may not have to. */
  check(bytes: number): void {
    const { smallBytes, maxWaitingBytes } = this.#options;
    if (bytes > smallBytes && this.#waitingBytes + bytes > maxWaitingBytes) throw tooManyRequests("large YAML bodies");
  }

  read(text: BodyPieces, signal: () => AbortSignal): YamlDocument | Promise<YamlDocument> {
    const { program, limits, smallBytes, maxWaitingBytes } = this.#options;
    if (program === undefined) return decodeYaml(text.joined());
    const plain = text.size <= smallBytes ? decodePlainYaml(text.joined(), limits) : undefined;
    if (plain !== undefined) return plain;
    if (this.#waitingBytes + text.size > maxWaitingBytes) throw tooManyRequests("large YAML bodies");
    this.#waitingBytes += text.size;
    return new Promise((settle, fail) => {
      this.#waiting.push({ text, signal: signal(), settle, fail });
      if (this.#current === undefined) this.#readNext(program);
    });
  }

  close(): void {
    const reason = new ApiError("ServiceUnavailable", "the server is shutting down");
    for (const task of this.#waiting.splice(0)) task.fail(reason);
    this.#waitingBytes = 0;
    this.#end(reason);
  }

  #readNext(program: string): void {
    const { clock, limits, budgetMs, idleMs } = this.#options;
    const task = this.#takeNext();
    this.#cancelTimer();
    if (task === undefined) {
      this.#cancelTimer = clock.after(idleMs, () => this.#stop());
      return;
    }
    this.#waitingBytes -= task.text.size;
    if (task.signal.aborted) {
      task.fail(toError(task.signal.reason));
      return this.#readNext(program);
    }
    this.#current = task;
    this.#cancelTimer = clock.after(budgetMs, () => this.#end(tooDear("time")));
    this.#worker ??= this.#start(program);
    const bytes = task.text.copied();
    this.#worker.postMessage({ bytes, limits } satisfies YamlQuestion, [bytes.buffer]);
  }

  #takeNext(): Task | undefined {
    const { smallBytes } = this.#options;
    const small = this.#waiting.findIndex(({ text }) => text.size <= smallBytes);
    return this.#waiting.splice(Math.max(0, small), 1)[0];
  }

  #start(program: string): Worker {
    const { maxHeapMb } = this.#options;
    // No environment, which may hold secrets, and no process-wide Node options.
    const worker = new Worker(program, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    worker.unref();
    worker.on("message", (answer: YamlAnswer) => {
      // A late answer of a stopped thread.
      if (this.#worker !== worker) return;
      const task = this.#current;
      this.#current = undefined;
      if (task !== undefined) answerTask(task, answer);
      this.#readNext(program);
    });
    worker.on("error", (error) => {
      if (this.#worker === worker) this.#end(codeOf(error) === "ERR_WORKER_OUT_OF_MEMORY" ? tooDear("memory") : error);
    });
    worker.on("exit", () => {
      if (this.#worker === worker) this.#end(new Error("the thread that reads YAML has ended"));
    });
    return worker;
  }

  /** Stops the thread and refuses its text; a new thread reads the waiting ones. */
  #end(reason: Error): void {
    const { program } = this.#options;
    const task = this.#current;
    this.#current = undefined;
    this.#stop();
    task?.fail(reason);
    if (this.#waiting.length > 0 && program !== undefined) this.#readNext(program);
  }

  #stop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#cancelTimer();
    void worker?.terminate();
  }
}

function answerTask({ settle, fail }: Task, answer: YamlAnswer): void {
  if ("refused" in answer) fail(new ApiError(answer.refused, answer.message));
  else if (answer.document === undefined) settle({ value: undefined, duplicates: [] });
  else settle({ json: asBuffer(answer.document.json), duplicates: answer.document.duplicates });
}

const tooDear = (what: "time" | "memory"): ApiError =>
  tooLarge(`the YAML of the request takes too much ${what} to read; the same as JSON takes a hundredth`);

/** Buffers arrive as plain byte arrays. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
