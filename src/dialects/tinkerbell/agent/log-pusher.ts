import { readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  aborted,
  type Clock,
  deferred,
  type Logger,
  messageOf,
  type Millis,
  type Random,
  sleep,
} from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type FeedChunk, readFeed } from "#kernel/streams/index.ts";
import { logsIn } from "../logs/places.ts";
import { retryDelay } from "./backoff.ts";
import type { LogSink } from "./connection.ts";
import { advancePush, type LogPush, newPush, pushFileOf, readPush, settlePush, writePush } from "./log-push.ts";
import { logPathOf, writingFileOf } from "./places.ts";
import type { Execution } from "./work.ts";

// Watches the length of a log while its action runs (file watches are scarce on small machines), and sends what is new
// in batches. Each batch is noted before it is sent; a few may be unanswered, and answers are read in order.

export interface LogPusherOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Bytes sent at once, unless one chunk is longer; 1 MiB by default. */
  readonly batchBytes?: number;
}

interface Job {
  readonly path: string;
  push: LogPush;
  isOver: boolean;
  /** Starts of its action: a new one during the final call keeps the log open. */
  begins: number;
  /** The last batch was not answered, or an earlier process sent it. */
  isUnsure: boolean;
}

interface Call {
  readonly seq: number;
  readonly answer: Promise<number | "refused">;
}

const none = Buffer.alloc(0);
/** Lines appear within a second, and output of a busy action is batched for this long. */
const lookEvery: Millis = 300;
const usualBatch = 1024 * 1024;
/** Reached only by an action that alternates between its streams. */
const batchChunks = 2000;
const keptWorkflows = 100;

/** Sends logs to a server that takes them. Unsent output waits on the disk, where the log is a ring. */
export class LogPusher {
  readonly #options: LogPusherOptions;
  /** By path: the running action, and those whose end was not acknowledged. */
  readonly #jobs = new Map<string, Job>();
  #changed = deferred<void>();

  constructor(options: LogPusherOptions) {
    this.#options = options;
  }

  /** Adopts what earlier processes left; it counts as ended unless it starts again. Never rejects. */
  async open(): Promise<void> {
    try {
      for (const folder of await this.#folders()) {
        for (const name of (await readdir(folder)).filter((each) => each.endsWith(".log.push"))) {
          const path = join(folder, name.slice(0, -".push".length));
          const push = await readPush(pushFileOf(path));
          if (push !== undefined && !push.isDone && !this.#jobs.has(path))
            this.#jobs.set(path, { path, push, isOver: true, begins: 0, isUnsure: true });
        }
      }
    } catch (thrown) {
      this.#options.log.warn("logs of earlier actions are not sent", { error: messageOf(thrown) });
    }
  }

  /** An action starts or goes on. Resolves when a later process would know. Never rejects. */
  async began(execution: Execution): Promise<void> {
    const path = logPathOf(this.#options.directory, execution);
    const { workflow, action } = execution;
    try {
      const known = this.#jobs.get(path);
      if (known !== undefined) {
        known.isOver = false;
        known.begins++;
      } else {
        const before = await readPush(pushFileOf(path));
        const push: LogPush = before === undefined ? newPush(workflow, action.id) : { ...before, isDone: false };
        await makeDirectories(dirname(path), 0o750);
        await writePush(pushFileOf(path), push);
        this.#jobs.set(path, { path, push, isOver: false, begins: 1, isUnsure: before !== undefined });
        await this.#forgetOldest(dirname(path));
      }
      this.#wake();
    } catch (thrown) {
      this.#options.log.warn("the log of an action is not sent", { workflow, error: messageOf(thrown) });
    }
  }

  /** Nothing writes to its log any more. */
  ended(execution: Execution): void {
    const job = this.#jobs.get(logPathOf(this.#options.directory, execution));
    if (job !== undefined) job.isOver = true;
    this.#wake();
  }

  /** Sends until the signal aborts. Never rejects. */
  async run(sink: LogSink, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    const over = aborted(signal);
    // Unanswered batches may have arrived.
    for (const job of this.#jobs.values()) job.isUnsure = true;
    for (let failures = 0; !signal.aborted; ) {
      const change = this.#changed.promise;
      try {
        let isBusy = false;
        for (const job of this.#jobs.values()) isBusy = (await this.#advance(job, sink, signal)) || isBusy;
        failures = 0;
        if (isBusy) continue;
        // Polls only while something may write.
        const pause = this.#jobs.size === 0 ? change : sleep(clock, lookEvery, signal).catch(() => undefined);
        await Promise.race([pause, change, over]);
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        log.warn("logs cannot be sent", { error: messageOf(thrown) });
        await sleep(clock, retryDelay(failures, random), signal).catch(() => undefined);
      }
    }
  }

  /** Sends what a log has now, or its end; false if there is nothing to do. */
  async #advance(job: Job, sink: LogSink, signal: AbortSignal): Promise<boolean> {
    // Before the read, which then sees everything written until now.
    const { isOver, begins } = job;
    if (job.isUnsure) {
      const answer = await sink.push(job.push, [], signal);
      if (answer === "refused") return await this.#giveUp(job);
      await this.#settle(job, answer);
    }
    const first = await this.#read(job);
    if (first === undefined || (first.length === 0 && !isOver)) return false;
    if (first.length === 0) return await this.#sendEnd(job, begins, sink, signal);
    return await this.#sendAll(job, first, sink, signal);
  }

  /** What follows all that was sent. Undefined while the log is being rewritten. */
  async #read({ path, push }: Job): Promise<readonly FeedChunk[] | undefined> {
    const { batchBytes = usualBatch } = this.#options;
    const writing = await writingOf(path);
    const chunks = await readFeed(path, push.underWay.at(-1) ?? push.place, writing, batchBytes);
    return (await writingOf(path)) === writing ? chunks.slice(0, batchChunks) : undefined;
  }

  /** Sends batches until the log has no more or another one is due. A failure ends all of them. */
  async #sendAll(job: Job, first: readonly FeedChunk[], sink: LogSink, signal: AbortSignal): Promise<true> {
    const stop = new AbortController();
    const calls: Call[] = [];
    let next: readonly FeedChunk[] | undefined = first;
    try {
      for (let left = sink.mostCalls ** 2; ; ) {
        const isRoom = calls.length < sink.mostCalls && left > 0;
        const chunks = isRoom ? (next ?? (await this.#read(job)) ?? []) : [];
        next = undefined;
        if (chunks.length > 0) {
          left--;
          calls.push(await this.#send(job, chunks, sink, AbortSignal.any([signal, stop.signal])));
          continue;
        }
        const oldest = calls.shift();
        if (oldest === undefined || !(await this.#hear(job, oldest))) return true;
      }
    } finally {
      stop.abort(new Error("a batch before this one was not taken"));
      await Promise.allSettled(calls.map(({ answer }) => answer));
    }
  }

  async #send(job: Job, chunks: readonly FeedChunk[], sink: LogSink, signal: AbortSignal): Promise<Call> {
    const seq = job.push.seq + job.push.underWay.length;
    job.push = { ...job.push, underWay: [...job.push.underWay, ...chunks.map(({ place }) => place)] };
    await writePush(pushFileOf(job.path), job.push);
    job.isUnsure = true;
    const answer = sink.push({ ...job.push, seq }, chunks, signal);
    answer.catch(() => undefined); // Its turn to be heard may never come.
    return { seq: seq + chunks.length, answer };
  }

  /** False if later batches need not be awaited. */
  async #hear(job: Job, { seq, answer }: Call): Promise<boolean> {
    const received = await answer;
    if (received === "refused") {
      await this.#giveUp(job);
      return false;
    }
    // Later answers may say more: asked again when none is pending.
    if (received < seq) return false;
    job.push = advancePush(job.push, received);
    job.isUnsure = job.push.underWay.length > 0;
    await writePush(pushFileOf(job.path), job.push);
    return true;
  }

  async #sendEnd(job: Job, begins: number, sink: LogSink, signal: AbortSignal): Promise<boolean> {
    job.push = { ...job.push, underWay: [job.push.place] };
    await writePush(pushFileOf(job.path), job.push);
    const { seq, source } = job.push;
    job.isUnsure = true;
    const answer = await sink.push(job.push, [{ stream: "stdout", at: this.#options.clock.now(), data: none }], signal);
    if (answer === "refused") return await this.#giveUp(job);
    await this.#settle(job, answer);
    if (job.push.source === source && job.push.seq === seq + 1) await this.#finish(job, begins);
    return true;
  }

  async #settle(job: Job, seq: number): Promise<void> {
    job.push = settlePush(job.push, seq);
    await writePush(pushFileOf(job.path), job.push);
    job.isUnsure = false;
  }

  /** The job stays known until its end is written, because concurrent writes of one file fail. */
  async #finish(job: Job, begins: number): Promise<void> {
    if (job.begins !== begins) return;
    await writePush(pushFileOf(job.path), { ...job.push, isDone: true });
    if (job.begins === begins) this.#jobs.delete(job.path);
    else await writePush(pushFileOf(job.path), job.push);
  }

  /** A refusal is final: the workflow is gone or belongs to another. */
  async #giveUp(job: Job): Promise<boolean> {
    const { workflow, action } = job.push;
    this.#options.log.warn("the server does not take the log of an action", { workflow, action });
    await writePush(pushFileOf(job.path), { ...job.push, isDone: true });
    this.#jobs.delete(job.path);
    return true;
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = deferred();
    resolve();
  }

  async #folders(): Promise<readonly string[]> {
    const directory = logsIn(this.#options.directory);
    return (await readdir(directory).catch(() => [])).map((name) => join(directory, name));
  }

  /** Removes the logs written to least recently, sent or not. */
  async #forgetOldest(current: string): Promise<void> {
    const folders = (await this.#folders()).filter((folder) => folder !== current);
    if (folders.length < keptWorkflows) return;
    const aged: { readonly folder: string; readonly at: number }[] = [];
    for (const folder of folders) aged.push({ folder, at: (await stat(folder)).mtimeMs });
    aged.sort((a, b) => b.at - a.at);
    for (const { folder } of aged.slice(keptWorkflows - 1)) {
      for (const path of this.#jobs.keys()) if (dirname(path) === folder) this.#jobs.delete(path);
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Empty until the log is rewritten for the first time. */
const writingOf = (path: string): Promise<string> => readFile(writingFileOf(path), "utf8").catch(() => "");
