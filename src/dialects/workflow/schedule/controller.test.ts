import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, formatTime, type Instant } from "#lib/base/index.ts";
import { Metrics } from "#kernel/kit/index.ts";
import type { MemoryClient } from "#kernel/kit/testing/index.ts";
import { Job, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { Harness, job, namespace } from "../testing/harness.ts";
import { ScheduledWorkflow, type ScheduleSpec, type ScheduleStatus } from "./kind.ts";
import { jitterOf } from "./plan.ts";

const minute = 60_000;
/** Half a minute after a full one, so that no test begins at a time of its schedule. */
const start: Instant = Date.UTC(2026, 0, 1) + minute / 2;
const first = Date.UTC(2026, 0, 1) + minute;

let harness: Harness;
let metrics: Metrics;

beforeEach(() => {
  metrics = new Metrics();
  harness = new Harness({ clock: new FakeClock(start), metrics });
});
afterEach(() => harness.close());

const ref = { type: ScheduledWorkflow, namespace, name: "tick" };

async function schedule(more: Partial<ScheduleSpec> = {}): Promise<Stored<ScheduledWorkflow>> {
  const spec: ScheduleSpec = {
    schedule: "* * * * *",
    suspend: false,
    workflowTemplate: { metadata: { labels: { team: "a" } }, spec: { steps: { work: job() } } },
    ...more,
  };
  const created = await harness.store.create<ScheduledWorkflow>(ScheduledWorkflow, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "ScheduledWorkflow",
    metadata: { name: "tick", namespace },
    spec,
  });
  await harness.settle();
  return created;
}
const edit = async (spec: object): Promise<void> => {
  await harness.store.patch(ref, { type: "merge", body: { spec: spec as never } });
  await harness.settle();
};
const status = async (): Promise<ScheduleStatus> => (await harness.store.get<ScheduledWorkflow>(ref)).status ?? {};
const runs = async (): Promise<readonly Stored<Workflow>[]> =>
  (await harness.store.list<Workflow>(Workflow, { namespace })).items;
/** Which minutes after the first have a run, and how far it is: `0 Running`. */
const seen = async (): Promise<readonly string[]> =>
  (await runs()).map(({ metadata, status: run }) => `${minuteOf(metadata.name)} ${run?.phase ?? "new"}`);
const minuteOf = (name: string): number => Number(/^tick-(\d+)$/.exec(name)?.[1]) - first / minute;
const at = (minutes: number): string => formatTime(first + minutes * minute);
/** To half a minute after the time of the next run. */
const wait = (minutes = 1): Promise<void> => harness.pass(minutes * minute);
/** Ends the Job of the run of that minute. */
async function end(minutes: number, exitCode = 0): Promise<void> {
  const run = `tick-${first / minute + minutes}`;
  const found = (await harness.jobs()).find(({ metadata }) => metadata.labels?.["slipway.dev/workflow"] === run);
  if (found === undefined) throw new Error(`${run} has no Job`);
  const condition = exitCode === 0 ? { type: "Complete" } : { type: "Failed", reason: "BackoffLimitExceeded" };
  const conditions = [{ ...condition, status: "True", lastTransitionTime: formatTime(harness.clock.now()) }];
  await harness.store.updateStatus(Job, { ...found, status: { conditions } });
  await harness.settle();
}
const notes = (reason: string): readonly string[] =>
  harness.events.filter((event) => event.reason === reason).map(({ note }) => note);
/** A server that is down while time passes, and comes back. */
async function down(minutes: number): Promise<void> {
  const { clock, store } = harness;
  await harness.close();
  await clock.advance(start + minutes * minute - clock.now());
  metrics = new Metrics();
  harness = new Harness({ clock, store, metrics });
  await harness.settle();
}
const counted = (name: string): unknown =>
  metrics.collect().find((family) => family.name === `slipway_workflow_${name}`);

test("a run has the name, owner, label and annotation of its time, and the labels of the template", async () => {
  const { metadata } = await schedule();
  expect(await status()).toMatchObject({ schedule: "* * * * *", activeCount: 0, nextScheduleTime: at(0) });
  await wait();
  const [run] = await runs();
  expect(run?.metadata).toMatchObject({
    name: `tick-${first / minute}`,
    labels: { team: "a", "slipway.dev/scheduled-workflow": "tick" },
    annotations: { "slipway.dev/scheduled-at": at(0) },
    ownerReferences: [{ kind: "ScheduledWorkflow", uid: metadata.uid, controller: true }],
  });
  expect(await status()).toMatchObject({
    active: [{ name: run?.metadata.name, uid: run?.metadata.uid }],
    activeCount: 1,
    lastScheduleTime: at(0),
    nextScheduleTime: at(1),
    missed: 0,
    conditions: [{ type: "Ready", status: "True", reason: "Scheduled" }],
  });
  expect(notes("ScheduledRun")).toEqual([`created workflow "tick-${first / minute}" for ${at(0)}`]);
});

test("the expressions of a run know the time it was made for", async () => {
  const wait: ScheduleSpec["workflowTemplate"] = {
    spec: { steps: { work: job({ when: `schedule.time == "${at(0)}"` }) }, outputs: { time: "schedule.time" } },
  };
  await schedule({ workflowTemplate: wait });
  await harness.pass(minute);
  await end(0);
  expect((await runs())[0]?.status).toMatchObject({ phase: "Succeeded", outputs: { time: at(0) } });
});

describe("a run that takes longer than the period", () => {
  test("has others beside it with Allow", async () => {
    await schedule({ concurrencyPolicy: "Allow" });
    await wait(3);
    expect(await seen()).toEqual(["0 Running", "1 Running", "2 Running"]);
    expect((await status()).active).toHaveLength(3);
  });

  test("keeps others from starting with Forbid, each of which is told of", async () => {
    await schedule({ concurrencyPolicy: "Forbid" });
    await wait(3);
    expect(await seen()).toEqual(["0 Running"]);
    expect(notes("SkippedRun")).toHaveLength(2);
    await end(0);
    expect(await seen()).toEqual(["0 Succeeded"]);
    await wait();
    expect(await seen()).toEqual(["0 Succeeded", "3 Running"]);
    expect(await status()).toMatchObject({ missed: 0, lastScheduleTime: at(3) });
  });

  test("is canceled with Replace, and the next one starts when it has ended", async () => {
    await schedule({ concurrencyPolicy: "Replace" });
    await wait(2);
    expect(await seen()).toEqual(["0 Canceled", "1 Running"]);
    expect(await status()).toMatchObject({ activeCount: 1, lastScheduleTime: at(1) });
    expect(await status()).not.toHaveProperty("queuedTime");
  });

  test("has one other wait for its end with Queue", async () => {
    await schedule({ concurrencyPolicy: "Queue" });
    await wait(4);
    expect(await seen()).toEqual(["0 Running"]);
    expect(await status()).toMatchObject({ queuedTime: at(1) });
    expect(notes("SkippedRun")).toHaveLength(2);
    await end(0);
    expect(await seen()).toEqual(["0 Succeeded", "1 Running"]);
    expect(await status()).not.toHaveProperty("queuedTime");
    await wait();
    expect(await status()).toMatchObject({ queuedTime: at(4) });
  });

  test("has none wait for longer than a run may be late", async () => {
    await schedule({ concurrencyPolicy: "Queue", startingDeadlineSeconds: 90, schedule: "*/10 * * * *" });
    await wait(23);
    expect(await seen()).toEqual(["9 Running"]);
    await end(9);
    expect(await seen()).toEqual(["9 Succeeded"]);
    expect(await status()).toMatchObject({ missed: 1 });
  });
});

describe("a server that was down over five periods", () => {
  test.each([
    ["Latest", ["5 Running"], 4],
    ["None", [], 5],
    ["All", ["1 Running", "2 Running", "3 Running", "4 Running", "5 Running"], 0],
  ] as const)("%s", async (catchUp, late, missed) => {
    await schedule({ catchUp });
    await wait();
    await down(6);
    expect(await seen()).toEqual(["0 Running", ...late]);
    expect(await status()).toMatchObject({ missed, lastScheduleTime: at(late.length === 0 ? 0 : 5) });
    expect(notes("MissedRuns")).toHaveLength(missed > 0 ? 1 : 0);
    expect(counted("missed_runs_total")).toMatchObject({ samples: [{ value: missed }] });
    await wait();
    expect((await seen()).at(-1)).toBe("6 Running");
  });

  test("makes up for no more than the limit, oldest first, and tells of the rest", async () => {
    await schedule({ catchUp: "All", catchUpLimit: 2 });
    await down(6);
    expect(await seen()).toEqual(["0 Running", "1 Running"]);
    expect(notes("MissedRuns")).toEqual(["4 runs were missed and not made up for (catchUp: All)"]);
  });

  test("starts nothing that is later than the deadline allows", async () => {
    await schedule({ catchUp: "All", startingDeadlineSeconds: 100 });
    await down(6);
    expect(await seen()).toEqual(["4 Running", "5 Running"]);
    expect(await status()).toMatchObject({ missed: 4 });
  });

  test("does not decide again after a second pause what was decided after the first", async () => {
    await schedule({ catchUp: "None" });
    await down(5);
    await edit({ catchUp: "All" });
    await down(5.1);
    expect(await seen()).toEqual([]);
  });
});

test("down over a thousand periods and more, the schedule goes on", async () => {
  await schedule();
  await down(5_000);
  expect(await seen()).toEqual(["4999 Running"]);
  expect(notes("MissedRuns")).toEqual(["more than 1000 runs were missed and not made up for (catchUp: Latest)"]);
  await wait();
  expect(await seen()).toEqual(["4999 Running", "5000 Running"]);
});

test("a clock that is set back starts nothing twice, whether the run is there or not", async () => {
  await schedule({ successfulWorkflowsHistoryLimit: 0 });
  await wait();
  await end(0);
  await wait();
  expect(await seen()).toEqual(["1 Running"]);
  harness.clock.jump(start - 5 * minute);
  await wait(3);
  expect(await seen()).toEqual(["1 Running"]);
  expect(await status()).toMatchObject({ conditions: [{ reason: "ClockSetBack", status: "True" }] });
  await wait(4);
  expect(await seen()).toEqual(["1 Running"]);
  expect(await status()).toMatchObject({ conditions: [{ reason: "Scheduled", status: "True" }] });
  await wait();
  expect(await seen()).toEqual(["1 Running", "2 Running"]);
});

test("a run whose creation was not told of before a crash is found by its name", async () => {
  const { clock } = harness;
  await harness.close();
  let broken = true;
  const wrap = (client: MemoryClient) =>
    new Proxy(client, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== "function") return value;
        if (name !== "patch" || !broken) return value.bind(target);
        return (of: { name: string }, ...rest: unknown[]) =>
          of.name === "tick" ? Promise.reject(new Error("away")) : Reflect.apply(value, target, [of, ...rest]);
      },
    });
  harness = new Harness({ clock, store: harness.store, wrap });
  await schedule({ concurrencyPolicy: "Forbid" });
  await wait();
  expect(await seen()).toEqual(["0 Running"]);
  expect(await status()).toEqual({});
  broken = false;
  await down(1.2);
  expect(await seen()).toEqual(["0 Running"]);
  expect(await status()).toMatchObject({ lastScheduleTime: at(0), activeCount: 1 });
  expect(notes("SkippedRun")).toEqual([]);
});

test("a workflow of somebody else under the name of a run counts as the run, and is told of", async () => {
  await harness.create({ steps: { other: job() } }, `tick-${first / minute}`);
  await schedule();
  await wait();
  expect(await runs()).toHaveLength(1);
  expect(notes("SkippedRun")).toHaveLength(1);
  expect(await status()).toMatchObject({ activeCount: 0 });
});

describe("suspend", () => {
  test("starts nothing, lets runs go on, and owes nothing for the time when it ends", async () => {
    await schedule({ catchUp: "All" });
    await wait();
    await edit({ suspend: true });
    await wait(3);
    expect(await seen()).toEqual(["0 Running"]);
    expect(await status()).toMatchObject({ activeCount: 1, conditions: [{ status: "False", reason: "Suspended" }] });
    expect(await status()).not.toHaveProperty("nextScheduleTime");
    await edit({ suspend: false });
    expect(await seen()).toEqual(["0 Running"]);
    await wait();
    expect(await seen()).toEqual(["0 Running", "4 Running"]);
  });
});

test("another schedule owes nothing for the time before it", async () => {
  await schedule({ schedule: "0 0 1 1 *" });
  await wait(3);
  await edit({ schedule: "* * * * *" });
  expect(await seen()).toEqual([]);
  await wait();
  expect(await seen()).toEqual(["3 Running"]);
});

test("of ended runs the newest are kept, of each kind as many as its limit", async () => {
  await schedule({ successfulWorkflowsHistoryLimit: 2, failedWorkflowsHistoryLimit: 1 });
  await wait(6);
  for (const [minutes, exitCode] of [0, 1, 0, 1, 0, 0].entries()) await end(minutes, exitCode);
  expect(await seen()).toEqual(["3 Failed", "4 Succeeded", "5 Succeeded"]);
  expect(await status()).toMatchObject({ activeCount: 0, lastSuccessfulTime: formatTime(harness.clock.now()) });
});

test("jitter puts off the runs of a schedule, always by the same time, and not their names", async () => {
  const { metadata } = await schedule({ jitterSeconds: 50 });
  const late = jitterOf({ ...(await harness.store.get<ScheduledWorkflow>(ref)), metadata });
  expect(late).toBeGreaterThan(0);
  expect(late).toBeLessThan(50_000);
  await harness.pass(first + late - 1 - harness.clock.now());
  expect(await seen()).toEqual([]);
  await harness.pass(1);
  expect(await seen()).toEqual(["0 Running"]);
  await harness.pass(minute - 1);
  expect(await seen()).toEqual(["0 Running"]);
  await harness.pass(1);
  expect(await seen()).toEqual(["0 Running", "1 Running"]);
});

test("a time that two schedules name is one run", async () => {
  await schedule({ schedule: undefined as never, schedules: ["*/2 * * * *", "*/3 * * * *"] });
  await wait(6);
  expect(await seen()).toEqual(["1 Running", "2 Running", "3 Running", "5 Running"]);
});

test("a schedule that cannot be read says so once, and goes on when it is corrected", async () => {
  await schedule({ timeZone: "Mars/Olympus" });
  await wait(3);
  expect(notes("InvalidSchedule")).toEqual([
    'spec.timeZone: unknown time zone "Mars/Olympus", expected a name such as Europe/Berlin',
  ]);
  expect(await status()).toMatchObject({ conditions: [{ status: "False", reason: "InvalidSchedule" }] });
  await edit({ timeZone: "Europe/Berlin" });
  await wait();
  expect(await seen()).toEqual(["3 Running"]);
});

test("between its times a schedule writes nothing", async () => {
  await schedule({ schedule: "0 12 * * *" });
  const { metadata } = await harness.store.get<ScheduledWorkflow>(ref);
  await wait(30);
  expect((await harness.store.get<ScheduledWorkflow>(ref)).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

test("how late a run was created is measured", async () => {
  await schedule();
  await wait();
  expect(counted("schedule_lag_seconds")).toMatchObject({
    distributions: [{ sum: 0, buckets: expect.arrayContaining([{ upTo: 0.05, count: 1 }]) }],
  });
});
