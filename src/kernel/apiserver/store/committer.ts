import { toError } from "#lib/base/index.ts";
import { inlinePrevious } from "./codec.ts";
import type { CommitBatch, Disk, DiskWrite, SystemChange } from "./disk.ts";
import { valueOf } from "./entry.ts";
import { storeBusy } from "./errors.ts";
import type { Write } from "./session.ts";

// A failed batch also rejects everything queued, which was built on it.

/** One caller's writes, committed and answered as a whole. */
export interface WriteGroup {
  readonly writes: readonly Write[];
  readonly system: readonly SystemChange[];
  readonly bytes: number;
  answer(): void;
  refuse(error: Error): void;
}

/** Test hooks: may throw like the disk, or return a promise to delay the commit. */
export interface Failpoints {
  beforeCommit?(batch: CommitBatch): void | Promise<void>;
  beforeCompaction?(): void | Promise<void>;
  beforeProbe?(): void | Promise<void>;
}

export interface CommitLimits {
  /** Per transaction. One caller's writes are never split, so may exceed it. */
  readonly batchWrites: number;
  readonly batchBytes: number;
  /** Queued bytes beyond which writes are refused. */
  readonly queueBytes: number;
}

export const defaultCommitLimits: CommitLimits = {
  batchWrites: 4_000,
  batchBytes: 16 * 2 ** 20,
  queueBytes: 256 * 2 ** 20,
};

export interface CommitterParts {
  readonly disk: Disk;
  readonly failpoints: Failpoints;
  readonly limits: CommitLimits;
  readonly published: () => { readonly revision: number; readonly compacted: number };
  /** Called in commit order, once per durable batch, before its answers. */
  readonly publish: (groups: readonly WriteGroup[], took: { readonly since: number; readonly writes: number }) => void;
  /** Called after a rejected commit, also with the queued groups. */
  readonly fail: (cause: Error, groups: readonly WriteGroup[]) => void;
}

/** Commits all queued writes in one transaction. Chores (compaction, probes) alternate with batches. */
export class Committer {
  readonly #parts: CommitterParts;
  #queue: WriteGroup[] = [];
  #queuedBytes = 0;
  readonly #chores: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #durable: WriteGroup[] = [];
  #answering: Promise<void> | undefined;

  constructor(parts: CommitterParts) {
    this.#parts = parts;
  }

  get refusal(): Error | undefined {
    return this.#queuedBytes > this.#parts.limits.queueBytes ? storeBusy(this.#queue.length) : undefined;
  }

  enqueue(group: WriteGroup): void {
    this.#queue.push(group);
    this.#queuedBytes += group.bytes;
    this.#start();
  }

  /** Runs `work` between two batches. Batches continue if it fails. */
  chore(work: () => Promise<void>): Promise<void> {
    return new Promise((done, failed) => {
      this.#chores.push(() => work().then(done, failed));
      this.#start();
    });
  }

  async drained(): Promise<void> {
    while (this.#running !== undefined || this.#answering !== undefined) {
      await Promise.all([this.#running, this.#answering]);
    }
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0 || this.#chores.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    for (;;) {
      // Lets answered callers and this turn's requests queue first.
      await endOfTurn();
      const chore = this.#chores.shift();
      if (chore === undefined && this.#queue.length === 0) return;
      if (chore !== undefined) await chore();
      if (this.#queue.length > 0) await this.#commit(this.#take());
    }
  }

  /** A bug while publishing must not leave callers without an answer. */
  async #commit(groups: readonly WriteGroup[]): Promise<void> {
    const { disk, failpoints, published, publish, fail } = this.#parts;
    const since = performance.now();
    const batch = batchOf(groups, published());
    try {
      await failpoints.beforeCommit?.(batch);
      if (batch.writes.length + batch.system.length > 0) await disk.commit(batch);
      publish(groups, { since, writes: batch.writes.length });
      this.#answer(groups);
    } catch (thrown) {
      const lost = [...groups, ...this.#queue];
      this.#queue = [];
      this.#queuedBytes = 0;
      fail(toError(thrown), lost);
    }
  }

  /** Answers a few groups per turn: their callers' work must not block the event loop. */
  #answer(groups: readonly WriteGroup[]): void {
    this.#durable.push(...groups);
    this.#answering ??= this.#answerAll().finally(() => {
      this.#answering = undefined;
    });
  }

  async #answerAll(): Promise<void> {
    while (this.#durable.length > 0) {
      const groups = this.#durable.splice(0, answersPerTurn);
      for (const group of groups) group.answer();
      await endOfTurn();
      for (const { writes } of groups) {
        for (const { entry, previous, deletes } of writes) {
          entry.settle();
          if (deletes) entry.retire();
          previous?.retire();
        }
      }
    }
  }

  /** At least one group; usually the whole queue, without a copy. */
  #take(): readonly WriteGroup[] {
    const { batchWrites, batchBytes } = this.#parts.limits;
    let [count, writes, bytes] = [0, 0, 0];
    for (const group of this.#queue) {
      writes += group.writes.length + group.system.length;
      bytes += group.bytes;
      if (count > 0 && (writes > batchWrites || bytes > batchBytes)) break;
      count++;
      this.#queuedBytes -= group.bytes;
    }
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }
}

const answersPerTurn = 64;

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function batchOf(
  groups: readonly WriteGroup[],
  published: { readonly revision: number; readonly compacted: number },
): CommitBatch {
  const writes: DiskWrite[] = [];
  const system: SystemChange[] = [];
  for (const group of groups) {
    for (const write of group.writes) {
      const { previous, record } = write;
      // Decided now, because a compaction may have run since the write was queued.
      if (previous !== undefined && previous.revision <= published.compacted) {
        write.inlined = inlinePrevious(record, valueOf(previous));
      }
      writes.push(write);
    }
    system.push(...group.system);
  }
  return { writes, system, revision: writes.at(-1)?.revision ?? published.revision };
}
