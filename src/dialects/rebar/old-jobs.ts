import { type Clock, type Logger, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { Job } from "./objects.ts";
import type { RebarStore } from "./store.ts";

export interface OldJobsOptions {
  readonly store: Pick<RebarStore, "world" | "remove">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Of one machine, also of one that is gone. */
export const mostJobs = 1_000;
const betweenLooks: Millis = 3_600_000;

/** Removes the oldest jobs beyond the limit, with their logs, every hour. Never rejects; ends with the signal. */
export async function boundJobs({ store, clock, log, signal }: OldJobsOptions): Promise<void> {
  while (!signal.aborted) {
    for (const { Uuid } of excessOf(store.world.all("jobs")))
      await store.remove("jobs", Uuid, { by: { kind: "internal" } }).catch((thrown: unknown) => {
        log.warn("an old job could not be removed", { job: Uuid, error: messageOf(thrown) });
      });
    await sleep(clock, betweenLooks, signal).catch(() => undefined);
  }
}

/** What may go: jobs that have ended and are not the current ones of their machines. */
export function excessOf(jobs: readonly Job[]): readonly Job[] {
  const excess = new Map<string, number>();
  for (const { Machine } of jobs) excess.set(Machine, (excess.get(Machine) ?? -mostJobs) + 1);
  return jobs
    .filter(({ Machine }) => (excess.get(Machine) ?? 0) > 0)
    .toSorted((a, b) => (a.StartTime < b.StartTime ? -1 : 1))
    .filter(({ Machine, Current, State }) => {
      const left = excess.get(Machine) ?? 0;
      const goes = left > 0 && !Current && (State === "finished" || State === "failed");
      if (goes) excess.set(Machine, left - 1);
      return goes;
    });
}
