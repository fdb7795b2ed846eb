import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { Job } from "./objects.ts";

// When the jobs of one pass of a task list ran, as the machine keeps it: a text, since it is written with every job.

/** About three hundred jobs; the oldest go. */
const longest = 4096;

const isEnded = ({ State }: Job): boolean => State === "finished" || State === "failed";

/** With the current job, if this write has ended it. */
export function withEnded(
  times: string | undefined,
  begun: string,
  job: Job | undefined,
  before: Job | undefined,
): string | undefined {
  if (job === undefined || !isEnded(job) || (before?.Uuid === job.Uuid && isEnded(before))) return times;
  const at = (text: string): Instant => parseInstant(text) ?? 0;
  const [start, end] = [at(job.StartTime), at(job.EndTime)];
  const mark = job.State === "failed" ? "!" : "";
  const entry = `${job.CurrentIndex}:${Math.max(0, start - at(begun))}+${Math.max(0, end - start)}${mark}`;
  const all = times === undefined ? entry : `${times} ${entry}`;
  return all.length <= longest ? all : all.slice(all.indexOf(" ", all.length - longest) + 1);
}

export interface EndedJob {
  readonly startedAt: Instant;
  readonly finishedAt: Instant;
  readonly hasFailed: boolean;
}

/** By entry of the task list, in their order. */
export function endedJobs(times: string, begun: Instant): ReadonlyMap<number, readonly EndedJob[]> {
  const found = new Map<number, EndedJob[]>();
  for (const [, index, start, took, mark] of times.matchAll(/(\d+):(\d+)\+(\d+)(!?)/g)) {
    const startedAt = begun + Number(start);
    const job = { startedAt, finishedAt: startedAt + Number(took), hasFailed: mark === "!" };
    const known = found.get(Number(index));
    if (known === undefined) found.set(Number(index), [job]);
    else known.push(job);
  }
  return found;
}
