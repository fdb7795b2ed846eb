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
import { type FeedChunk, readFeed } from "#kernel/logs/index.ts";
import { logsIn } from "../log-places.ts";
import { retryDelay } from "./backoff.ts";
import type { LogSink } from "./connection.ts";
import { advancePush, type LogPush, newPush, pushFileOf, readPush, settlePush, writePush } from "./log-push.ts";
import { logPathOf, writingFileOf } from "./places.ts";
import type { Execution } from "./work.ts";

// A log is looked at while its action runs, by its length and by nothing else: watches of a file system are few on small machines. A batch is noted,
// sent, and answered. A few may be under way to a server that can bear it; so there are never more than those in memory, and none that is not on
// the disk as well. Answers are heard in the order of their batches.

export interface LogPusherOptions {
  /** The agent's. */
  readonly directory: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** What is sent at once, but for a chunk that is longer; 1 MiB when absent. */
  readonly batchBytes?: number;
}

/** One log on its way. */
interface Job {
  readonly path: string;
  push: LogPush;
  /** Its action has ended. */
  isOver: boolean;
  /** How often its action has begun: one that begins and ends while the end of the one before is told is not over with that. */
  begins: number;
  /** What was sent last was not answered, or by an earlier process. */
  isUnsure: boolean;
}

/** One batch that is under way. */
interface Call {
  /** Of its last chunk. */
  readonly seq: number;
  readonly answer: Promise<number | "refused">;
}

const none = Buffer.alloc(0);
/** Lines appear within a second; and a busy action's lines are gathered for so long. */
const lookEvery: Millis = 300;
const usualBatch = 1024 * 1024;
/** More are of one batch only when an action prints on both streams by turns. */
const batchChunks = 2000;
/** Workflows whose logs stay on this machine. */
const keptWorkflows = 100;

/**
 * Sends what actions print to a server that wants it, beside everything else an agent does and never in its way: what cannot be sent waits on
 * the disk, where the log is a ring.
 */
export class LogPusher {
  readonly #options: LogPusherOptions;
  /** By path; few: the action that runs, and those whose end the server has not heard of. */
  readonly #jobs = new Map<string, Job>();
  /** Something begins or ends, which is no reason to wait for the next look. */
  #changed = deferred<void>();

  constructor(options: LogPusherOptions) {
    this.#options = options;
  }

  /** Takes up what earlier processes have not sent, all of which is over unless it begins again. Never rejects. */
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

  /** An action begins, or goes on. Resolves when a later process would know of it. Never rejects. */
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

  /** Nothing is written to its log any more. */
  ended(execution: Execution): void {
    const job = this.#jobs.get(logPathOf(this.#options.directory, execution));
    if (job !== undefined) job.isOver = true;
    this.#wake();
  }

  /** Sends until the signal aborts. Never rejects. */
  async run(sink: LogSink, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    const over = aborted(signal);
    // What was under way when the connection broke may have arrived.
    for (const job of this.#jobs.values()) job.isUnsure = true;
    for (let failures = 0; !signal.aborted; ) {
      const change = this.#changed.promise;
      try {
        let isBusy = false;
        for (const job of this.#jobs.values()) isBusy = (await this.#advance(job, sink, signal)) || isBusy;
        failures = 0;
        if (isBusy) continue;
        // Files are looked at while something may write to them, and only then.
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

  /** Sends what there is of a log now, or its end; false when there is nothing to do. */
  async #advance(job: Job, sink: LogSink, signal: AbortSignal): Promise<boolean> {
    // Before the look: what was written until then is certainly seen.
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

  /** What follows all that was sent. Undefined while the log is being written anew. */
  async #read({ path, push }: Job): Promise<readonly FeedChunk[] | undefined> {
    const { batchBytes = usualBatch } = this.#options;
    const writing = await writingOf(path);
    const chunks = await readFeed(path, push.underWay.at(-1) ?? push.place, writing, batchBytes);
    return (await writingOf(path)) === writing ? chunks.slice(0, batchChunks) : undefined;
  }

  /**
   * As many batches as the server bears at once, the next when the oldest is answered, until there are no more or another log is to have its
   * turn. What goes wrong with one ends all that are under way.
   */
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

  /** Begins to send what follows all that is under way. It is noted before that. */
  async #send(job: Job, chunks: readonly FeedChunk[], sink: LogSink, signal: AbortSignal): Promise<Call> {
    const seq = job.push.seq + job.push.underWay.length;
    job.push = { ...job.push, underWay: [...job.push.underWay, ...chunks.map(({ place }) => place)] };
    await writePush(pushFileOf(job.path), job.push);
    job.isUnsure = true;
    const answer = sink.push({ ...job.push, seq }, chunks, signal);
    answer.catch(() => undefined); // Its turn to be heard may never come.
    return { seq: seq + chunks.length, answer };
  }

  /** False when what was sent behind it is not to be waited for. */
  async #hear(job: Job, { seq, answer }: Call): Promise<boolean> {
    const received = await answer;
    if (received === "refused") {
      await this.#giveUp(job);
      return false;
    }
    // Less is what the server had when it answered, which may be less than it has said since, and others are still under way: it is asked when none is.
    if (received < seq) return false;
    job.push = advancePush(job.push, received);
    job.isUnsure = job.push.underWay.length > 0;
    await writePush(pushFileOf(job.path), job.push);
    return true;
  }

  /** Tells that there is no more of so many begins. */
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

  /** The server has said how much it has, which is the truth. */
  async #settle(job: Job, seq: number): Promise<void> {
    job.push = settlePush(job.push, seq);
    await writePush(pushFileOf(job.path), job.push);
    job.isUnsure = false;
  }

  /**
   * The server has it all, unless the action has begun again meanwhile. The log is forgotten when that is written, because of two who write
   * it at once one fails: until then it is known to whoever begins it again, and stays this one's.
   */
  async #finish(job: Job, begins: number): Promise<void> {
    if (job.begins !== begins) return;
    await writePush(pushFileOf(job.path), { ...job.push, isDone: true });
    if (job.begins === begins) this.#jobs.delete(job.path);
    else await writePush(pushFileOf(job.path), job.push);
  }

  /** What a server does not want once, it will not want later: the workflow has gone, or is somebody else's. */
  async #giveUp(job: Job): Promise<boolean> {
    const { workflow, action } = job.push;
    this.#options.log.warn("the server does not take the log of an action", { workflow, action });
    await writePush(pushFileOf(job.path), { ...job.push, isDone: true });
    this.#jobs.delete(job.path);
    return true;
  }

  /** Whoever waits looks again. */
  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = deferred();
    resolve();
  }

  /** One for each workflow; none when nothing was ever printed. */
  async #folders(): Promise<readonly string[]> {
    const directory = logsIn(this.#options.directory);
    return (await readdir(directory).catch(() => [])).map((name) => join(directory, name));
  }

  /** Those that were written to last stay, whether they were sent or not: a disk is not for ever. */
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

/** Empty until the log is written anew for the first time. */
const writingOf = (path: string): Promise<string> => readFile(writingFileOf(path), "utf8").catch(() => "");
