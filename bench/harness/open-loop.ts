import { setTimeout as sleep } from "node:timers/promises";

/** A load at a fixed rate, whether or not what was begun before has ended. */
export interface PacedLoad {
  readonly ms: number;
  readonly perSecond: number;
}

/** What a paced load did: the write numbered `first` was due at `startMs`, the others follow at the rate. */
export interface PacedWrites {
  readonly first: number;
  readonly startMs: number;
  readonly writes: number;
}

/** Milliseconds on a clock that all processes of this machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Begins `ms * perSecond / 1000` operations, each when it is due or, when this process was late, at once. Resolves when all have
 * ended, rejects when one of them has failed.
 */
export async function atRate({ ms, perSecond }: PacedLoad, begin: () => unknown): Promise<Omit<PacedWrites, "first">> {
  const startMs = monotonicMs();
  const writes = Math.max(1, Math.round((ms * perSecond) / 1000));
  const begun: unknown[] = [];
  for (;;) {
    const due = Math.min(writes, 1 + Math.floor(((monotonicMs() - startMs) * perSecond) / 1000));
    while (begun.length < due) begun.push(begin());
    if (due === writes) break;
    await sleep(1);
  }
  await Promise.all(begun);
  return { startMs, writes };
}
