import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, formatTime } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import {
  controllerReference,
  CronJob,
  Event,
  isNotFound,
  Job,
  type KubeObject,
  type Stored,
} from "#kernel/model/index.ts";
import { type CronJobObject, type CronJobSpec, scheduledAnnotation } from "../cron-job-types.ts";
import type { JobObject } from "../job-types.ts";
import { bench, type Bench, shellJob } from "../testing/index.ts";
import { addCronJobController } from "./cron-job-controller.ts";

const perMinute = 60_000;
/** From one time of the schedule to the next. */
const step = 5 * perMinute;

let clock: FakeClock;
let client: MemoryClient;
let place: Bench;

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  place = open();
});
afterEach(close);

function open(): Bench {
  const opened = bench({ clock, client });
  addCronJobController(opened.manager, { instance: "test" });
  opened.start();
  return opened;
}

async function close(): Promise<void> {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
}

async function create(spec: Partial<CronJobSpec> = {}): Promise<Stored<CronJobObject>> {
  const template = {
    metadata: { labels: { app: "tick" }, annotations: { note: "x" } },
    spec: shellJob("t", "true").spec,
  };
  const cron = await client.create<CronJobObject>(CronJob, {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "tick", namespace: "default" },
    spec: { schedule: "*/5 * * * *", jobTemplate: template, ...spec },
  });
  await clock.advance(1000);
  return cron;
}

const cronOf = () => client.get<CronJobObject>({ type: CronJob, namespace: "default", name: "tick" });
const change = (spec: object) =>
  client.patch({ type: CronJob, namespace: "default", name: "tick" }, { type: "merge", body: { spec: { ...spec } } });
const jobs = async () => (await client.list<JobObject>(Job, { namespace: "default" })).items;
const names = async () => (await jobs()).map(({ metadata }) => metadata.name).sort();
/** The name of the Job for some steps after the start. */
const nameAt = (steps: number) => `tick-${(Date.UTC(2026, 0, 1) + steps * step) / perMinute}`;

async function end(name: string, type: "Complete" | "Failed" = "Complete"): Promise<void> {
  const job = await client.get<JobObject>({ type: Job, namespace: "default", name });
  const time = formatTime(clock.now());
  const condition = { type, status: "True", lastTransitionTime: time, reason: "", message: "" } as const;
  const completed = type === "Complete" ? { completionTime: time } : {};
  const status = { startTime: job.metadata.creationTimestamp, ...completed, conditions: [condition] };
  await client.updateStatus<JobObject>(Job, { ...job, status });
  await clock.advance(1000);
}

async function reasons(): Promise<readonly string[]> {
  await clock.advance(5000);
  const { items } = await client.list(Event, { namespace: "default" });
  return items.map((event: KubeObject) => String(Reflect.get(event, "reason"))).sort();
}

test("at its time a Job is made from the template, controlled by the CronJob, and told", async () => {
  const cron = await create();
  await clock.advance(step);
  const [job, ...others] = await jobs();
  expect(others).toEqual([]);
  expect(job?.metadata).toMatchObject({
    name: nameAt(1),
    labels: { app: "tick" },
    annotations: { note: "x", [scheduledAnnotation]: "2026-01-01T00:05:00Z" },
    ownerReferences: [controllerReference(cron)],
  });
  expect((await cronOf()).status).toEqual({
    active: [{ apiVersion: "batch/v1", kind: "Job", name: nameAt(1), namespace: "default", uid: job?.metadata.uid }],
    lastScheduleTime: "2026-01-01T00:05:00Z",
  });
  expect(await reasons()).toEqual(["SuccessfulCreate"]);
});

test("a Job that ends is no longer active, and its success has a time", async () => {
  await create();
  await clock.advance(step);
  await end(nameAt(1));
  const { status } = await cronOf();
  expect(status).toEqual({
    lastScheduleTime: "2026-01-01T00:05:00Z",
    lastSuccessfulTime: formatTime(clock.now() - 1000),
  });
  expect(await reasons()).toEqual(["SawCompletedJob", "SuccessfulCreate"]);
});

test("the annotation has the time of the zone", async () => {
  await create({ schedule: "35 5 * * *", timeZone: "Asia/Kolkata" });
  await clock.advance(step);
  const [job] = await jobs();
  expect(job?.metadata.annotations?.[scheduledAnnotation]).toBe("2026-01-01T05:35:00+05:30");
  expect((await cronOf()).status?.lastScheduleTime).toBe("2026-01-01T00:05:00Z");
});

describe("while a Job runs", () => {
  test("Allow makes another one", async () => {
    await create({ concurrencyPolicy: "Allow" });
    await clock.advance(2 * step);
    expect(await names()).toEqual([nameAt(1), nameAt(2)]);
    expect((await cronOf()).status?.active).toHaveLength(2);
  });

  test("Forbid waits for its end, tells so once, and then makes up for the last time", async () => {
    await create({ concurrencyPolicy: "Forbid" });
    await clock.advance(2.5 * step);
    expect(await names()).toEqual([nameAt(1)]);
    expect(await reasons()).toEqual(["JobAlreadyActive", "SuccessfulCreate"]);
    await end(nameAt(1));
    expect(await names()).toEqual([nameAt(1), nameAt(2)]);
    expect((await cronOf()).status?.lastScheduleTime).toBe("2026-01-01T00:10:00Z");
  });

  test("Replace puts another one in its place", async () => {
    await create({ concurrencyPolicy: "Replace" });
    await clock.advance(2 * step);
    expect(await names()).toEqual([nameAt(2)]);
    expect(await reasons()).toEqual(["SuccessfulCreate", "SuccessfulCreate", "SuccessfulDelete"]);
  });

  test("one that a person has made from the template stands in nobody's way, and is not active", async () => {
    const cron = await create({ concurrencyPolicy: "Forbid" });
    const made = shellJob("by-hand", "true");
    const metadata = { ...made.metadata, ownerReferences: [controllerReference(cron)] };
    await client.create<JobObject>(Job, { ...made, metadata });
    await clock.advance(step);
    expect(await names()).toEqual(["by-hand", nameAt(1)]);
    expect((await cronOf()).status?.active).toHaveLength(1);
  });
});

test("ended Jobs are kept as long as their number allows, failures apart from successes", async () => {
  await create({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 });
  for (const turn of [1, 2, 3, 4, 5]) {
    await clock.advance(turn * step - (clock.now() - Date.UTC(2026, 0, 1)) + 1000);
    await end(nameAt(turn), turn % 2 === 0 ? "Failed" : "Complete");
  }
  expect(await names()).toEqual([nameAt(3), nameAt(4), nameAt(5)]);
});

test("a suspended one makes nothing, and makes up for the last time when it goes on", async () => {
  await create({ suspend: true });
  await clock.advance(3.5 * step);
  expect(await names()).toEqual([]);
  await change({ suspend: false });
  await clock.advance(1000);
  expect(await names()).toEqual([nameAt(3)]);
});

test("what was missed longer ago than the deadline is given up", async () => {
  await create({ suspend: true, startingDeadlineSeconds: 60 });
  await clock.advance(3.5 * step);
  await change({ suspend: false });
  await clock.advance(1000);
  expect(await names()).toEqual([]);
  await clock.advance(step);
  expect(await names()).toEqual([nameAt(4)]);
});

test("more than a hundred missed times are told, and the last is made up for", async () => {
  await create({ suspend: true });
  await clock.advance(102 * step);
  await change({ suspend: false });
  await clock.advance(1000);
  expect(await names()).toEqual([nameAt(102)]);
  expect(await reasons()).toEqual(["SuccessfulCreate", "TooManyMissedTimes"]);
});

test("a Job made before a crash is not made again, and its time is written down", async () => {
  await create();
  await clock.advance(step);
  const cron = await cronOf();
  await client.updateStatus<CronJobObject>(CronJob, { ...cron, status: {} });
  await close();
  place = open();
  await clock.advance(1000);
  expect(await names()).toEqual([nameAt(1)]);
  expect((await cronOf()).status).toMatchObject({
    lastScheduleTime: "2026-01-01T00:05:00Z",
    active: [{ name: nameAt(1) }],
  });
});

test("a Job of somebody else stands in the way, is told and not touched", async () => {
  await create();
  const other = await client.create<JobObject>(Job, shellJob(nameAt(1), "true"));
  await clock.advance(step);
  expect((await jobs()).map(({ metadata }) => metadata.uid)).toEqual([other.metadata.uid]);
  expect(await reasons()).toContain("FailedCreate");
});

test("a Job that vanishes is told", async () => {
  await create();
  await clock.advance(step);
  await client.delete({ type: Job, namespace: "default", name: nameAt(1) });
  await clock.advance(1000);
  expect((await cronOf()).status).toEqual({ lastScheduleTime: "2026-01-01T00:05:00Z" });
  expect(await reasons()).toContain("MissingJob");
});

test("a zone that is gone from the machine is told once", async () => {
  await create({ timeZone: "Mars/Olympus" });
  await clock.advance(2 * step);
  await change({ suspend: false });
  expect(await names()).toEqual([]);
  expect(await reasons()).toEqual(["UnknownTimeZone"]);
});

test("a clock that is put forward is noticed within a minute", async () => {
  await create();
  clock.jump(Date.UTC(2026, 0, 1) + 5 * step);
  await clock.advance(perMinute);
  expect(await names()).toEqual([nameAt(5)]);
});

test("one that is deleted makes nothing more", async () => {
  await create();
  await client.delete({ type: CronJob, namespace: "default", name: "tick" });
  await clock.advance(2 * step);
  await expect(cronOf()).rejects.toSatisfy(isNotFound);
  expect(await names()).toEqual([]);
});
