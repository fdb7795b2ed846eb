import { expect, test } from "vitest";
import { formatInstant } from "#lib/base/index.ts";
import type { Job } from "./objects.ts";
import { endedJobs, withEnded } from "./times.ts";

const begun = Date.parse("2026-01-02T03:04:05Z");
const job = (index: number, start: number, end: number, State = "finished"): Job =>
  ({
    Uuid: `${index}-${start}`,
    State,
    CurrentIndex: index,
    StartTime: formatInstant(begun + start),
    EndTime: formatInstant(begun + end),
  }) as Job;

test("each job is kept once, when it ends", () => {
  const zero = formatInstant(begun);
  const failed = job(2, 10, 30, "failed");
  let times = withEnded(undefined, zero, failed, job(2, 10, 0, "running"));
  times = withEnded(times, zero, failed, failed);
  times = withEnded(times, zero, job(2, 40, 0, "running"), failed);
  times = withEnded(times, zero, job(2, 40, 90), job(2, 40, 0, "running"));
  times = withEnded(times, zero, job(3, 95, 95), job(2, 40, 90));
  expect(times).toBe("2:10+20! 2:40+50 3:95+0");
  expect([...endedJobs(times ?? "", begun)]).toEqual([
    [
      2,
      [
        { startedAt: begun + 10, finishedAt: begun + 30, hasFailed: true },
        { startedAt: begun + 40, finishedAt: begun + 90, hasFailed: false },
      ],
    ],
    [3, [{ startedAt: begun + 95, finishedAt: begun + 95, hasFailed: false }]],
  ]);
});

test("of very many jobs the oldest are forgotten, whole", () => {
  let times: string | undefined;
  for (let index = 0; index < 2000; index++)
    times = withEnded(times, formatInstant(begun), job(index, index, index + 5), undefined);
  expect(times?.length).toBeLessThanOrEqual(4096);
  expect(times).toMatch(/^1\d+:1\d+\+5 .*1999:1999\+5$/);
});
