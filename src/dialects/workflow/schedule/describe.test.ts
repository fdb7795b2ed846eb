import { expect, test } from "vitest";
import type { Stored } from "#kernel/model/index.ts";
import type { Workflow } from "../kinds.ts";
import { describeSchedule } from "./describe.ts";
import type { ScheduledWorkflow } from "./kind.ts";

// Two hours before the clocks of Berlin are put back.
const now = Date.parse("2026-10-24T23:00:00Z");
const metadata = {
  name: "nightly",
  namespace: "default",
  uid: "u-1",
  resourceVersion: "1",
  creationTimestamp: "2026-10-01T00:00:00Z",
};
const schedule: Stored<ScheduledWorkflow> = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "ScheduledWorkflow",
  metadata,
  spec: {
    schedules: ["30 2 * * *", "0 12 * * 0"],
    timeZone: "Europe/Berlin",
    suspend: false,
    concurrencyPolicy: "Forbid",
    startingDeadlineSeconds: 300,
    workflowTemplate: { spec: { steps: { a: { container: { image: "i" } } } } },
  },
  status: {
    schedule: "30 2 * * *, 0 12 * * 0 (Europe/Berlin)",
    activeCount: 1,
    lastScheduleTime: "2026-10-24T00:30:00Z",
    lastSuccessfulTime: "2026-10-23T00:31:00Z",
    decidedTime: "2026-10-24T00:30:00Z",
    missed: 2,
    conditions: [{ type: "Ready", status: "True", reason: "Scheduled", message: "" }],
  },
};
const run = (at: string, status: Workflow["status"]): Stored<Workflow> => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: {
    ...metadata,
    name: `nightly-${Date.parse(at) / 60_000}`,
    annotations: { "slipway.dev/scheduled-at": at },
  },
  spec: {},
  ...(status === undefined ? {} : { status }),
});

test("a schedule is told by the clocks of its zone, with its next times and its runs, newest first", () => {
  const runs = [
    run("2026-10-23T00:30:00Z", {
      phase: "Succeeded",
      progress: "1/1",
      startTime: "2026-10-23T00:30:00Z",
      completionTime: "2026-10-23T00:31:00Z",
    }),
    run("2026-10-24T00:30:00Z", { phase: "Running", progress: "0/1", startTime: "2026-10-24T22:59:30Z" }),
  ];
  expect(describeSchedule(schedule, runs, now)).toBe(`Name:         nightly
Namespace:    default
Schedules:    30 2 * * *; 0 12 * * 0
Time zone:    Europe/Berlin
Suspended:    no
Ready:        True (Scheduled)
Next:         2026-10-25T02:30:00+02:00 (in 90m)
              2026-10-25T12:00:00+01:00 (in 12h)
              2026-10-26T02:30:00+01:00 (in 26h)
Last:         2026-10-24T02:30:00+02:00 (22h ago)
Succeeded:    2026-10-23T02:31:00+02:00 (46h ago)
Active:       1
Missed:       2
Concurrency:  Forbid
Catch-up:     Latest
May be late:  300s
History:      keeps 3 succeeded, 1 failed

RUN               FOR                        PHASE      STEPS  TIME  REASON
nightly-29880030  2026-10-24T02:30:00+02:00  Running    0/1    30s
nightly-29878590  2026-10-23T02:30:00+02:00  Succeeded  1/1    60s
`);
});

test("what is suspended, never due, or new says so", () => {
  const { status: _new, ...unseen } = schedule;
  const text = (spec: Partial<ScheduledWorkflow["spec"]>) =>
    describeSchedule({ ...unseen, spec: { ...schedule.spec, ...spec } }, [], now);
  expect(text({})).toMatch(/^Ready: +not looked at yet$/m);
  expect(text({})).toMatch(/^Runs: +none$/m);
  expect(text({ suspend: true })).toMatch(/^Next: +none while it is suspended$/m);
  expect(text({ schedules: ["0 0 31 2 *"] })).toMatch(/^Next: +never$/m);
  expect(text({ catchUp: "All", jitterSeconds: 60 })).toMatch(/^Catch-up: +All, at most 100$/m);
});
