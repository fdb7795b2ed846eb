import { describe, expect, test } from "vitest";
import { formatTime, type Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type CronJobObject, type CronJobSpec, type CronJobStatus, scheduledAnnotation } from "../cron-job-types.ts";
import { shellJob } from "../testing/index.ts";
import { type CronsJob, planCronJob } from "./plan-cron-job.ts";
import { jobNameFor } from "./scheduled-job.ts";

const minute = 60_000;
const midnight = Date.UTC(2026, 0, 1);
/** A time of the schedule, which is every five minutes. */
const slot = (number: number): Instant => midnight + 5 * minute * number;

function cronJob(spec: Partial<CronJobSpec> = {}, status?: CronJobStatus): Stored<CronJobObject> {
  const { spec: jobSpec } = shellJob("t", "true");
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: {
      name: "tick",
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: formatTime(midnight),
    },
    spec: { schedule: "*/5 * * * *", jobTemplate: { spec: jobSpec }, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

interface JobDraft {
  readonly ended?: "Complete" | "Failed";
  /** By a person, with `kubectl create job --from`. */
  readonly manual?: boolean;
  readonly deleted?: boolean;
}

/** The Job of a time; its uid is that time's number. */
function jobAt(number: number, { ended, manual, deleted }: JobDraft = {}): CronsJob {
  const at = formatTime(slot(number));
  const { spec } = shellJob("t", "true");
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: manual === true ? `manual-${number}` : jobNameFor(cronJob(), slot(number)),
      namespace: "default",
      uid: `${number}`,
      resourceVersion: "1",
      creationTimestamp: at,
      ...(manual === true ? {} : { annotations: { [scheduledAnnotation]: at } }),
      ...(deleted === true ? { deletionTimestamp: at } : {}),
    },
    spec,
    ...(ended === undefined
      ? {}
      : {
          status: {
            startTime: at,
            ...(ended === "Complete" ? { completionTime: formatTime(slot(number) + minute) } : {}),
            conditions: [{ type: ended, status: "True", reason: "", message: "", lastTransitionTime: at }],
          },
        }),
  };
}

const reference = (number: number) => {
  const { name } = jobAt(number).metadata;
  return { apiVersion: "batch/v1", kind: "Job", name, namespace: "default", uid: `${number}` };
};
const reasons = (plan: ReturnType<typeof planCronJob>) => plan.notes.map(({ reason }) => reason);
const removed = (plan: ReturnType<typeof planCronJob>) => plan.remove.map(({ metadata }) => metadata.uid);

describe("when a Job is made", () => {
  test("not before its time, and the plan says when that is", () => {
    const plan = planCronJob(cronJob(), [], slot(1) - 1);
    expect([plan.create, plan.wakeAt]).toEqual([undefined, slot(1)]);
  });

  test("at its time, for that time, and the next one is known", () => {
    const plan = planCronJob(cronJob(), [], slot(1));
    expect([plan.create, plan.wakeAt]).toEqual([slot(1), slot(2)]);
  });

  test("once for each time: what was made and what was written down count, whichever is known", () => {
    expect(planCronJob(cronJob(), [jobAt(1)], slot(1)).create).toBeUndefined();
    const known = cronJob({}, { lastScheduleTime: formatTime(slot(1)) });
    expect(planCronJob(known, [], slot(1) + minute).create).toBeUndefined();
  });

  test("of several missed times only for the latest", () => {
    const plan = planCronJob(cronJob(), [], slot(7) + minute);
    expect([plan.create, reasons(plan)]).toEqual([slot(7), []]);
  });

  test("more than a hundred missed times are told, once for each latest", () => {
    const { create, notes } = planCronJob(cronJob(), [], slot(150));
    expect(create).toBe(slot(150));
    expect(notes).toMatchObject([{ type: "Warning", reason: "TooManyMissedTimes", about: slot(150) }]);
  });

  test("not when the time is missed by more than the deadline", () => {
    const cron = cronJob({ startingDeadlineSeconds: 30 });
    expect(planCronJob(cron, [], slot(1) + 29_000).create).toBe(slot(1));
    expect(planCronJob(cron, [], slot(1) + 31_000).create).toBeUndefined();
  });

  test("by the calendar of its zone: half past two in India is nine in the evening before", () => {
    const cron = cronJob({ schedule: "30 2 * * *", timeZone: "Asia/Kolkata" });
    expect(planCronJob(cron, [], midnight + minute).wakeAt).toBe(Date.UTC(2026, 0, 1, 21));
    expect(planCronJob(cron, [], Date.UTC(2026, 0, 1, 21)).create).toBe(Date.UTC(2026, 0, 1, 21));
  });
});

describe("when none is made", () => {
  test("while it is suspended; nothing wakes it", () => {
    const { create, wakeAt } = planCronJob(cronJob({ suspend: true }), [], slot(3));
    expect([create, wakeAt]).toEqual([undefined, undefined]);
  });

  test("while it is being deleted", () => {
    const cron = cronJob();
    const going = { ...cron, metadata: { ...cron.metadata, deletionTimestamp: formatTime(slot(1)) } };
    const { create, wakeAt } = planCronJob(going, [], slot(3));
    expect([create, wakeAt]).toEqual([undefined, undefined]);
  });

  test.each([
    [{ timeZone: "Mars/Olympus" }, "UnknownTimeZone"],
    [{ schedule: "whenever" }, "UnparseableSchedule"],
    [{ schedule: "0 0 30 2 *" }, "InvalidSchedule"],
  ])("for a calendar that cannot be read or never comes (%j), which is told", (spec, reason) => {
    const plan = planCronJob(cronJob(spec), [], slot(3));
    expect([plan.create, plan.wakeAt, reasons(plan)]).toEqual([undefined, undefined, [reason]]);
  });
});

describe("while a Job still runs", () => {
  test("Allow makes another one", () => {
    const plan = planCronJob(cronJob(), [jobAt(1)], slot(2));
    expect([plan.create, removed(plan)]).toEqual([slot(2), []]);
  });

  test("Forbid makes none, tells it, and makes up for the latest time when the Job has ended", () => {
    const cron = cronJob({ concurrencyPolicy: "Forbid" }, { lastScheduleTime: formatTime(slot(1)) });
    const held = planCronJob(cron, [jobAt(1)], slot(3));
    expect([held.create, reasons(held), held.wakeAt]).toEqual([undefined, ["JobAlreadyActive"], slot(4)]);
    const after = planCronJob(cron, [jobAt(1, { ended: "Complete" })], slot(3) + minute);
    expect(after.create).toBe(slot(3));
  });

  test("Replace ends it, but for one that is ending already", () => {
    const cron = cronJob({ concurrencyPolicy: "Replace" });
    const plan = planCronJob(cron, [jobAt(1), jobAt(2, { deleted: true })], slot(3));
    expect([plan.create, removed(plan)]).toEqual([slot(3), ["1"]]);
  });

  test("a Job that a person made from the template is in nobody's way", () => {
    const by = jobAt(1, { manual: true });
    const forbidding = planCronJob(cronJob({ concurrencyPolicy: "Forbid" }), [by], slot(2));
    const replacing = planCronJob(cronJob({ concurrencyPolicy: "Replace" }), [by], slot(2));
    expect([forbidding.create, replacing.create, removed(replacing)]).toEqual([slot(2), slot(2), []]);
  });
});

describe("what is kept of ended Jobs", () => {
  const ended = (numbers: readonly number[], how: "Complete" | "Failed") =>
    numbers.map((number) => jobAt(number, { ended: how }));

  test("three successes and one failure, the newest of each", () => {
    const jobs = [...ended([5, 1, 3, 2], "Complete"), ...ended([6, 4], "Failed")];
    expect(removed(planCronJob(cronJob(), jobs, slot(6) + minute))).toEqual(["1", "4"]);
  });

  test("as many as the limits say, none at 0", () => {
    const jobs = [...ended([1, 2], "Complete"), ...ended([3, 4], "Failed")];
    const cron = cronJob({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 2 });
    expect(removed(planCronJob(cron, jobs, slot(4) + minute))).toEqual(["1", "2"]);
  });

  test("one that is being deleted counts no more, one that runs is never removed", () => {
    const jobs = [jobAt(1), jobAt(2, { ended: "Failed", deleted: true }), jobAt(3, { ended: "Failed" })];
    expect(removed(planCronJob(cronJob(), jobs, slot(3) + minute))).toEqual([]);
  });

  test("also while it is suspended", () => {
    const plan = planCronJob(cronJob({ suspend: true }), ended([1, 2], "Failed"), slot(9));
    expect(removed(plan)).toEqual(["1"]);
  });
});

describe("the status", () => {
  test("names the Jobs of the schedule that run, by name, and none that a person made", () => {
    const { status } = planCronJob(cronJob(), [jobAt(2), jobAt(1), jobAt(3, { manual: true })], slot(2) + minute);
    expect(status).toEqual({ active: [reference(1), reference(2)], lastScheduleTime: formatTime(slot(2)) });
  });

  test("keeps references that it has, so that nothing is written for nothing", () => {
    const known = { ...reference(1), resourceVersion: "7" };
    const cron = cronJob({}, { active: [known], lastScheduleTime: formatTime(slot(1)) });
    expect(planCronJob(cron, [jobAt(1)], slot(1)).status).toEqual(cron.status);
  });

  test("times never go back, also when their Jobs are gone", () => {
    const status = { lastScheduleTime: formatTime(slot(9)), lastSuccessfulTime: formatTime(slot(8)) };
    expect(planCronJob(cronJob({}, status), [jobAt(1, { ended: "Complete" })], slot(9)).status).toEqual(status);
  });

  test("has the time of the last success, whoever made the Job", () => {
    const jobs = [jobAt(1, { ended: "Complete" }), jobAt(2, { ended: "Complete", manual: true })];
    const { status } = planCronJob(cronJob(), [...jobs, jobAt(3, { ended: "Failed" })], slot(3));
    expect(status).toEqual({
      lastScheduleTime: formatTime(slot(3)),
      lastSuccessfulTime: formatTime(slot(2) + minute),
    });
  });
});

test("what became of Jobs that were active is told: the end of each, and those that are not there any more", () => {
  const active = [1, 2, 3, 4].map(reference);
  const jobs = [jobAt(1, { ended: "Complete" }), jobAt(2, { ended: "Failed" }), jobAt(3)];
  const { notes } = planCronJob(cronJob({}, { active, lastScheduleTime: formatTime(slot(4)) }), jobs, slot(4));
  expect(notes.map(({ reason, text }) => `${reason}: ${text}`)).toEqual([
    `SawCompletedJob: Saw completed job: ${reference(1).name}, condition: Complete`,
    `SawCompletedJob: Saw completed job: ${reference(2).name}, condition: Failed`,
    `MissingJob: Active job went missing: ${reference(4).name}`,
  ]);
});
