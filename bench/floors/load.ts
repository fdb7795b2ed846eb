import { isSmoke } from "../harness/sizes.ts";

/** What one measured window did. `cpuUs` is the whole process's, user and system, children included. */
export interface Window {
  readonly ops: number;
  readonly ms: number;
  readonly cpuUs: number;
}

export interface WriteLoad {
  readonly ms: number;
  readonly inFlight: number;
  /** An empty directory on the file system to be measured. */
  readonly dir: string;
}

/** Number of objects that the writes go to at random. Each of 256 callers needs some of its own. */
export const objects: number = isSmoke ? 1_000 : 10_000;
export const objectName = (index: number): string => `item-${String(index).padStart(6, "0")}`;

/** A fixed sequence of numbers below `below`, the same in every run. */
export function sequence(below: number, seed = 1): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state % below;
  };
}

/** Keeps `inFlight` calls of `write` going for `ms`, and counts. */
export async function drive(load: WriteLoad, write: (worker: number) => Promise<unknown>): Promise<Window> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + load.ms;
  let ops = 0;
  const worker = async (index: number): Promise<void> => {
    while (performance.now() < end) {
      await write(index);
      ops++;
    }
  };
  await Promise.all(Array.from({ length: load.inFlight }, (_, index) => worker(index)));
  const { user, system } = process.cpuUsage(cpu);
  return { ops, ms: performance.now() - start, cpuUs: user + system };
}

/**
 * Group commit as bare as it gets: items queue while `commit` runs, then all of them are committed together.
 */
export function groupCommit<T>(commit: (items: readonly T[]) => Promise<void>): (item: T) => Promise<void> {
  let queue: { readonly item: T; readonly done: () => void; readonly failed: (error: unknown) => void }[] = [];
  let isRunning = false;
  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue;
      queue = [];
      try {
        await commit(batch.map(({ item }) => item));
        for (const { done } of batch) done();
      } catch (thrown) {
        for (const { failed } of batch) failed(thrown);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    isRunning = false;
  };
  return (item) =>
    new Promise((done, failed) => {
      queue.push({ item, done, failed });
      if (isRunning) return;
      isRunning = true;
      setImmediate(() => void run());
    });
}
