import { Worker } from "node:worker_threads";
import { type Cancel, type Clock, codeOf, type Millis, toError } from "#lib/base/index.ts";
import { ApiError, type StatusReason, tooLarge, tooManyRequests } from "#kernel/model/index.ts";
import type { DecodedBody } from "./body.ts";
import type { BodyPieces } from "./body-pieces.ts";
import { decodePlainYaml, decodeYaml, type YamlAsJson, type YamlLimits } from "./yaml-body.ts";

// YAML takes a microsecond for each byte, and up to a kilobyte of memory for each word, a hundred times what JSON takes. So texts of
// more than a screenful are read by a thread of their own, which has its own memory and can be ended. It also reads what has anchors or
// mistakes, however small: that takes several times as long, and whoever sends nothing else would have all of this thread.

/** What the thread is asked; one question at a time. */
export interface YamlQuestion {
  readonly bytes: Uint8Array;
  readonly limits: YamlLimits;
}

/** The document as JSON, undefined for no document; or why there is none. */
export type YamlAnswer =
  | { readonly document: YamlAsJson | undefined }
  | { readonly refused: StatusReason; readonly message: string };

/** What reading YAML may take. */
export interface YamlReaderOptions {
  /** The thread's program, as a file of JavaScript; without it everything is read in this thread, for tests of other things. */
  readonly program: string | undefined;
  readonly clock: Clock;
  readonly limits: YamlLimits;
  /** Plain texts up to this size are read at once, in this thread. */
  readonly smallBytes?: number;
  /** Of all texts that wait for the thread; more are refused with 429. */
  readonly maxWaitingBytes?: number;
  /** For one text, after which the thread is ended. */
  readonly budgetMs?: Millis;
  /** Without a question, after which the thread is ended and its memory given back. */
  readonly idleMs?: Millis;
  /** Of the thread's heap, in MB: the largest text within the limits takes 180. */
  readonly maxHeapMb?: number;
}

const defaults = {
  // At most 1.5 ms; to ask the thread costs 1 ms, and 60 when it must be started.
  smallBytes: 4 * 1024,
  maxWaitingBytes: 8 * 1024 * 1024,
  // Thirty times what the largest text takes on an idle machine: the thread gives way to others.
  budgetMs: 60_000,
  idleMs: 10_000,
  maxHeapMb: 256,
};

/** The one document of a text, or its value undefined without one. What a thread has read is JSON that is still to be parsed. */
export type YamlDocument = DecodedBody | (YamlAsJson & { readonly json: Buffer });

/** A text in the queue. */
interface Task {
  readonly text: BodyPieces;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly settle: (document: YamlDocument) => void;
  readonly fail: (reason: Error) => void;
}

/**
 * Reads YAML bodies: small plain ones here, others one after the other in a thread that is started for the first of them and ended when it
 * has had nothing to do. Those that are small, and so soon read, go before large ones that wait. A text that takes it too long or too much memory is refused (413), and costs nobody but the thread.
 */
export class YamlReader {
  readonly #options: YamlReaderOptions & typeof defaults;
  readonly #waiting: Task[] = [];
  #waitingBytes = 0;
  #worker: Worker | undefined;
  #current: Task | undefined;
  /** Of the budget while a text is read, of idleness else. */
  #cancelTimer: Cancel = () => undefined;

  constructor(options: YamlReaderOptions) {
    this.#options = { ...defaults, ...options };
  }

  /** Throws 429 when a text of so many bytes could not wait now: whoever has not read it yet need not. Small ones may turn out not to need to. */
  check(bytes: number): void {
    const { smallBytes, maxWaitingBytes } = this.#options;
    if (bytes > smallBytes && this.#waitingBytes + bytes > maxWaitingBytes) throw tooManyRequests("large YAML bodies");
  }

  /** Throws, or rejects with, the refusals of `decodeYaml` and `yamlToJson`. */
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

  /** Ends the thread; whoever waits is refused. */
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
    // Neither our environment, which may hold secrets, nor options of Node that are about the whole process.
    const worker = new Worker(program, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    worker.unref();
    worker.on("message", (answer: YamlAnswer) => {
      // A thread that has been ended may have answered before: what is read now is not what it was asked.
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

  /** Ends the thread and refuses what it was reading; what waits is read by another one. */
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

/** Buffers come out of a message as plain arrays of bytes. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
