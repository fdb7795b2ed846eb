import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const path = "/apis/batch/v1/namespaces/default/cronjobs";
const pod = { restartPolicy: "OnFailure", containers: [{ name: "main", image: "example/work:1" }] };
const cron = (name: string, more: object = {}, job: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name },
  spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template: { spec: pod }, ...job } }, ...more },
});

test("policy, history and the Pods have their defaults, the Job around them has not", async () => {
  const { status, json } = await api.ask("POST", path, { body: cron("filled") });
  expect(status).toBe(201);
  expect(json).toMatchObject({
    metadata: { generation: 1 },
    spec: {
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: { spec: { template: { spec: { dnsPolicy: "ClusterFirst" } } } },
    },
    status: {},
  });
  expect(json["spec"]?.["jobTemplate"]?.["spec"]).not.toHaveProperty("backoffLimit");
});

test("a table shows schedule, zone and what runs", async () => {
  await api.ask("POST", path, { body: cron("shown", { timeZone: "Asia/Tokyo", suspend: true }) });
  const { json } = await api.ask("GET", `${path}/shown`, {
    headers: { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
  });
  const [row] = json["rows"] as unknown as readonly { readonly cells: readonly unknown[] }[];
  expect(row?.cells).toEqual([
    "shown",
    "*/5 * * * *",
    "Asia/Tokyo",
    "True",
    0,
    "<none>",
    expect.stringMatching(/^\d+s$/),
    "main",
    "example/work:1",
    "<none>",
  ]);
});

describe("what is refused", () => {
  test.each([
    ["no schedule", cron("r", { schedule: "" }), "spec.schedule", "Required value"],
    ["four fields", cron("r", { schedule: "* * * *" }), "spec.schedule", "expected exactly 5 fields"],
    ["a zone in the schedule", cron("r", { schedule: "TZ=UTC * * * * *" }), "spec.schedule", "use timeZone"],
    ["a zone nobody knows", cron("r", { timeZone: "Mars/Olympus" }), "spec.timeZone", "unknown time zone"],
    ["an empty zone", cron("r", { timeZone: "" }), "spec.timeZone", "unknown time zone"],
    [
      "another policy",
      cron("r", { concurrencyPolicy: "Queue" }),
      "spec.concurrencyPolicy",
      '"Allow", "Forbid", "Replace"',
    ],
    ["a negative deadline", cron("r", { startingDeadlineSeconds: -1 }), "spec.startingDeadlineSeconds", "greater than"],
    ["a negative history", cron("r", { failedJobsHistoryLimit: -1 }), "spec.failedJobsHistoryLimit", "greater than"],
    [
      "a Job that never ends",
      cron("r", {}, { template: { spec: { ...pod, restartPolicy: "Always" } } }),
      "spec.jobTemplate.spec.template.spec.restartPolicy",
      "Unsupported value",
    ],
    [
      "a selector of one's own",
      cron("r", {}, { manualSelector: true }),
      "spec.jobTemplate.spec.manualSelector",
      "Unsupported value",
    ],
    ["a name without room for the time", cron("n".repeat(53)), "metadata.name", "no more than 52"],
  ])("%s", async (_what, body, field, message) => {
    const { status, json } = await api.ask("POST", path, { body });
    expect(status).toBe(422);
    const causes = json["details"]?.["causes"] as unknown as readonly { field: string; message: string }[];
    expect(causes).toContainEqual(expect.objectContaining({ field, message: expect.stringContaining(message) }));
  });

  test("all at once", async () => {
    const body = cron("many", { schedule: "x", timeZone: "y", concurrencyPolicy: "z" });
    const { json } = await api.ask("POST", path, { body });
    expect(json["details"]?.["causes"]).toHaveLength(3);
  });
});

test("the schedule may change, and the generation with it; status has a path of its own", async () => {
  await api.ask("POST", path, { body: cron("moving") });
  const merge = { headers: { "Content-Type": "application/merge-patch+json" } };
  const changed = await api.ask("PATCH", `${path}/moving`, { ...merge, body: { spec: { schedule: "@daily" } } });
  expect(changed.json).toMatchObject({ metadata: { generation: 2 }, spec: { schedule: "@daily" } });
  const lastScheduleTime = "2026-01-01T00:00:00Z";
  const told = await api.ask("PATCH", `${path}/moving/status`, { ...merge, body: { status: { lastScheduleTime } } });
  expect(told.json).toMatchObject({ metadata: { generation: 2 }, status: { lastScheduleTime } });
  const ignored = await api.ask("PATCH", `${path}/moving`, { ...merge, body: { status: { lastScheduleTime: null } } });
  expect(ignored.json["status"]).toEqual({ lastScheduleTime });
});
