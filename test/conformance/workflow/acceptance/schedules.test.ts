import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Controllers, WorkflowPlane, workflows } from "../control-plane.ts";
import { Kubelet } from "../kubelet.ts";

// Lines 31 to 34 of the acceptance list: schedules, the time they miss, the clocks of their zones; and quotas.

const schedules = "/apis/slipway.dev/v1alpha1/namespaces/default/scheduledworkflows";
const minute = 60_000;

let plane: WorkflowPlane;
let kubelet: Kubelet;
let controllers: Controllers;
beforeEach(async () => {
  plane = await WorkflowPlane.bare();
  kubelet = new Kubelet(plane);
  controllers = await plane.control();
  // Half a minute after a full one, so that no test begins at a time of its schedule.
  await plane.clock.advance(minute / 2);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
async function schedule(spec: object, steps: object = { work: box }): Promise<void> {
  const workflowTemplate = { spec: { steps } };
  const body = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "ScheduledWorkflow",
    metadata: { name: "tick" },
    spec: { schedule: "* * * * *", workflowTemplate, ...spec },
  };
  const answer = await plane.api.ask("POST", schedules, { body });
  if (answer.status !== 201) throw new Error(answer.text);
  await plane.settle();
}

const runs = async () => await plane.list(workflows);
const nameOf = (run: Awaited<ReturnType<typeof runs>>[number]): string => String(run["metadata"]?.["name"]);
/** The times that the runs are named after. */
const times = async (): Promise<readonly string[]> =>
  (await runs())
    .map((run) => new Date(Number(/^tick-(\d+)$/.exec(nameOf(run))?.[1]) * minute).toISOString().slice(0, 16))
    .sort();
/** Minutes after the start of the test that have a run, and how far it is. */
const seen = async (): Promise<readonly string[]> => {
  const first = Date.UTC(2026, 0, 1) / minute;
  return (await runs())
    .map((run) => `${Number(nameOf(run).slice("tick-".length)) - first} ${String(run["status"]?.["phase"])}`)
    .sort();
};
const wait = (minutes: number): Promise<void> => plane.pass(minutes * minute);

describe("line 31: a run that takes longer than the period", () => {
  test("Allow", async () => {
    await schedule({ concurrencyPolicy: "Allow" });
    await wait(3);
    expect(await seen()).toEqual(["1 Running", "2 Running", "3 Running"]);
  });

  test("Forbid", async () => {
    await schedule({ concurrencyPolicy: "Forbid" });
    await wait(3);
    expect(await seen()).toEqual(["1 Running"]);
    await kubelet.endAll();
    await wait(1);
    expect(await seen()).toEqual(["1 Succeeded", "4 Running"]);
  });

  test("Replace", async () => {
    await schedule({ concurrencyPolicy: "Replace", failedWorkflowsHistoryLimit: 10 });
    await wait(3);
    expect(await seen()).toEqual(["1 Canceled", "2 Canceled", "3 Running"]);
    expect(await kubelet.running()).toHaveLength(1);
  });

  test("Queue", async () => {
    await schedule({ concurrencyPolicy: "Queue" });
    await wait(3);
    expect(await seen()).toEqual(["1 Running"]);
    await kubelet.end("work");
    await wait(0.1);
    expect(await seen()).toEqual(["1 Succeeded", "2 Running"]);
  });

  test("names are those of the nominal times, so that no time has two runs", async () => {
    await schedule({ concurrencyPolicy: "Allow" });
    await wait(2);
    expect(await times()).toEqual(["2026-01-01T00:01", "2026-01-01T00:02"]);
    await controllers.close();
    controllers = await plane.control();
    plane.clock.jump(Date.UTC(2026, 0, 1) + minute / 2);
    await wait(3);
    expect(await times()).toEqual(["2026-01-01T00:01", "2026-01-01T00:02", "2026-01-01T00:03"]);
    const [run] = await runs();
    expect(run?.["metadata"]).toMatchObject({
      labels: { "slipway.dev/scheduled-workflow": "tick" },
      annotations: { "slipway.dev/scheduled-at": "2026-01-01T00:01:00Z" },
      ownerReferences: [{ kind: "ScheduledWorkflow", name: "tick", controller: true }],
    });
  });
});

/** Nobody controls anything while time passes. */
async function down(minutes: number): Promise<void> {
  const until = plane.clock.now() + minutes * minute;
  await controllers.close();
  await plane.clock.advance(until - plane.clock.now());
  controllers = await plane.control();
  await plane.settle();
}

describe("line 32: down", () => {
  test.each([
    ["Latest", ["6"]],
    ["None", []],
    ["All", ["2", "3", "4", "5", "6"]],
  ])("over five periods, catchUp %s", async (catchUp, late) => {
    await schedule({ catchUp });
    await wait(1);
    await down(5);
    expect(await seen()).toEqual(["1", ...late].map((at) => `${at} Running`));
    await wait(1);
    expect(await seen()).toEqual(["1", ...late, "7"].map((at) => `${at} Running`));
  });

  test("over 1,000 periods and more: the schedule goes on", async () => {
    await schedule({});
    await down(1_500);
    expect(await seen()).toEqual(["1500 Running"]);
    await wait(2);
    expect(await seen()).toEqual(["1500 Running", "1501 Running", "1502 Running"]);
  });
});

describe("line 33: clocks that are changed, in America/Los_Angeles", () => {
  const of2020 = (month: number, day: number, hour: number) => Date.UTC(2020, month - 1, day, hour);
  /** The runs between two instants, by the time in UTC. */
  async function runsOf(pattern: string, from: number, to: number): Promise<readonly string[]> {
    plane.clock.jump(from - minute / 2);
    const kept = { successfulWorkflowsHistoryLimit: 100 };
    const steps = { pause: { wait: { seconds: 1 } } };
    await schedule({ schedule: pattern, timeZone: "America/Los_Angeles", ...kept }, steps);
    for (let at = from; at < to; at += 30 * minute) {
      await plane.clock.advance(30 * minute);
      await plane.settle();
    }
    return await times();
  }

  test("30 2 * * * on 8 March runs at 03:00 PDT", async () => {
    expect(await runsOf("30 2 * * *", of2020(3, 8, 9), of2020(3, 8, 13))).toEqual(["2020-03-08T10:00"]);
  });

  test("59 1 * * * on 1 November runs once, at 01:59 PDT", async () => {
    expect(await runsOf("59 1 * * *", of2020(11, 1, 8), of2020(11, 1, 12))).toEqual(["2020-11-01T08:59"]);
  });

  test.each([
    ["an ordinary day", 48, of2020(3, 7, 8), of2020(3, 8, 8)],
    ["8 March", 46, of2020(3, 8, 8), of2020(3, 9, 7)],
    ["1 November", 50, of2020(11, 1, 7), of2020(11, 2, 8)],
  ])("*/30 * * * * on %s runs %d times", async (_day, count, from, to) => {
    const found = await runsOf("*/30 * * * *", from, to);
    expect(found).toHaveLength(count);
    expect(new Set(found).size).toBe(count);
  });
});

test("line 34: a quota of one workflow", async () => {
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "one" } };
  const hard = { "count/workflows.slipway.dev": "1" };
  const quotas = "/api/v1/namespaces/default/resourcequotas";
  expect((await plane.api.ask("POST", quotas, { body: { ...quota, spec: { hard } } })).status).toBe(201);
  await plane.create("first", { steps: { a: box } });
  const refused = await plane.create("second", { steps: { a: box } }).then(
    () => "created",
    (thrown: unknown) => String(thrown),
  );
  const { code, reason, message } = JSON.parse(refused.replace(/^Error: /, "")) as Record<string, unknown>;
  expect({ code, reason }).toEqual({ code: 403, reason: "Forbidden" });
  expect(message).toContain("exceeded quota: one");
  await plane.api.ask("DELETE", `${workflows}/first`);
  await plane.pass(5_000);
  await plane.create("second", { steps: { a: box } });
  expect(await plane.phases("second")).toEqual({ a: "Starting" });
});
