import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { createRegistry } from "../crds/registry.ts";
import { deploymentTable, replicaSetTable } from "./apps.ts";
import { eventTable } from "./event.ts";
import { formatSelector, jobTable } from "./job.ts";
import { podTable } from "./pod.ts";
import { renderTable } from "./render.ts";
import {
  configMapTable,
  customResourceDefinitionTable,
  leaseTable,
  namespaceTable,
  secretTable,
} from "./small-kinds.ts";

const now = Date.UTC(2026, 0, 31, 12);
const metadata = { name: "x", creationTimestamp: "2026-01-31T11:58:00Z" };
const named = (table: typeof podTable, object: JsonObject): Record<string, unknown> =>
  Object.fromEntries(table.row({ metadata, ...object }, now).map((cell, index) => [table.columns[index]?.name, cell]));

describe("pods", () => {
  const status = (containers: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
    phase: "Running",
    containerStatuses: containers,
    ...more,
  });
  const running = { ready: true, restartCount: 0, state: { running: { startedAt: "2026-01-31T11:59:00Z" } } };
  const ended = (exitCode: number, more: JsonObject = {}): JsonObject => ({
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode, ...more } },
  });
  const waiting = (reason: string): JsonObject => ({ ready: false, restartCount: 0, state: { waiting: { reason } } });
  const spec = { containers: [{ name: "a" }] };
  const two = { containers: [{ name: "a" }, { name: "b" }] };
  const init = { containers: [{ name: "a" }], initContainers: [{ name: "i" }, { name: "j" }] };

  const cases: [string, JsonObject, string, string, string][] = [
    ["just made", { spec, status: { phase: "Pending" } }, "0/1", "Pending", "0"],
    ["running", { spec, status: status([running]) }, "1/1", "Running", "0"],
    ["half ready", { spec: two, status: status([running, { ...running, ready: false }]) }, "1/2", "Running", "0"],
    [
      "waiting for an image",
      { spec, status: status([waiting("ImagePullBackOff")], { phase: "Pending" }) },
      "0/1",
      "ImagePullBackOff",
      "0",
    ],
    [
      "done",
      { spec, status: status([ended(0, { reason: "Completed" })], { phase: "Succeeded" }) },
      "0/1",
      "Completed",
      "0",
    ],
    ["failed", { spec, status: status([ended(1, { reason: "Error" })], { phase: "Failed" }) }, "0/1", "Error", "0"],
    ["ended without a reason", { spec, status: status([ended(3)]) }, "0/1", "ExitCode:3", "0"],
    ["killed without a reason", { spec, status: status([ended(137, { signal: 9 })]) }, "0/1", "Signal:9", "0"],
    ["evicted", { spec, status: { phase: "Failed", reason: "DeadlineExceeded" } }, "0/1", "DeadlineExceeded", "0"],
    [
      "refused by the runner, containers unspoken of",
      { spec, status: { phase: "Failed", reason: "UnsupportedPod", message: "no" } },
      "0/1",
      "UnsupportedPod",
      "0",
    ],
    [
      "refused by the runner, containers waiting for ever",
      { spec, status: status([waiting("ContainerCreating")], { phase: "Failed", reason: "UnsupportedPod" }) },
      "0/1",
      "UnsupportedPod",
      "0",
    ],
    [
      "refused by the runner before its init containers",
      {
        spec: init,
        status: status([waiting("PodInitializing")], {
          phase: "Failed",
          reason: "UnsupportedPod",
          initContainerStatuses: [waiting("PodInitializing"), waiting("PodInitializing")],
        }),
      },
      "0/1",
      "UnsupportedPod",
      "0",
    ],
    [
      "refused for now, and said so by the containers",
      { spec, status: status([waiting("ContainerCreating")], { phase: "Pending", reason: "UnsupportedPod" }) },
      "0/1",
      "ContainerCreating",
      "0",
    ],
    [
      "over while a container waited for its next start",
      {
        spec,
        status: status([{ ...waiting("CrashLoopBackOff"), restartCount: 2 }], {
          phase: "Failed",
          reason: "DeadlineExceeded",
        }),
      },
      "0/1",
      "DeadlineExceeded",
      "2",
    ],
    [
      "over because an init container failed",
      {
        spec: init,
        status: status([waiting("PodInitializing")], {
          phase: "Failed",
          initContainerStatuses: [ended(1, { reason: "Error" }), waiting("PodInitializing")],
        }),
      },
      "0/1",
      "Init:Error",
      "0",
    ],
    [
      "the first container speaks",
      { spec: two, status: status([waiting("CrashLoopBackOff"), ended(1, { reason: "Error" })]) },
      "0/2",
      "CrashLoopBackOff",
      "0",
    ],
    [
      "one done, one running, ready",
      {
        spec: two,
        status: status([ended(0, { reason: "Completed" }), running], {
          conditions: [{ type: "Ready", status: "True" }],
        }),
      },
      "1/2",
      "Running",
      "0",
    ],
    [
      "one done, one running, not ready",
      { spec: two, status: status([ended(0, { reason: "Completed" }), running]) },
      "1/2",
      "NotReady",
      "0",
    ],
    [
      "being deleted",
      { metadata: { ...metadata, deletionTimestamp: "2026-01-31T12:00:30Z" }, spec, status: status([running]) },
      "1/1",
      "Terminating",
      "0",
    ],
    [
      "deleted after its end",
      {
        metadata: { ...metadata, deletionTimestamp: "2026-01-31T12:00:30Z" },
        spec,
        status: status([ended(0, { reason: "Completed" })], { phase: "Succeeded" }),
      },
      "0/1",
      "Completed",
      "0",
    ],
    [
      "gated, whatever else its status says",
      {
        spec,
        status: {
          phase: "Pending",
          reason: "Waiting",
          conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }],
        },
      },
      "0/1",
      "SchedulingGated",
      "0",
    ],
    [
      "lost with its machine",
      {
        metadata: { ...metadata, deletionTimestamp: "2026-01-31T12:00:30Z" },
        spec,
        status: status([running], { reason: "NodeLost" }),
      },
      "1/1",
      "Unknown",
      "0",
    ],
    [
      "killed by a signal while initializing",
      { spec: init, status: { phase: "Pending", initContainerStatuses: [ended(137, { signal: 9 })] } },
      "0/1",
      "Init:Signal:9",
      "0",
    ],
    [
      "initializing",
      { spec: init, status: { phase: "Pending", initContainerStatuses: [ended(0), waiting("PodInitializing")] } },
      "0/1",
      "Init:1/2",
      "0",
    ],
    [
      "init failed",
      {
        spec: init,
        status: {
          phase: "Pending",
          initContainerStatuses: [ended(1, { reason: "Error" }), waiting("PodInitializing")],
        },
      },
      "0/1",
      "Init:Error",
      "0",
    ],
    [
      "init crashed without a reason",
      { spec: init, status: { phase: "Pending", initContainerStatuses: [ended(2), waiting("PodInitializing")] } },
      "0/1",
      "Init:ExitCode:2",
      "0",
    ],
    [
      "init backing off",
      {
        spec: init,
        status: { phase: "Pending", initContainerStatuses: [{ ...waiting("CrashLoopBackOff"), restartCount: 4 }] },
      },
      "0/1",
      "Init:CrashLoopBackOff",
      "4",
    ],
    [
      "initialized",
      {
        spec: init,
        status: status([waiting("PodInitializing")], { phase: "Pending", initContainerStatuses: [ended(0), ended(0)] }),
      },
      "0/1",
      "PodInitializing",
      "0",
    ],
    [
      "with a sidecar",
      {
        spec: { containers: [{ name: "a" }], initContainers: [{ name: "s", restartPolicy: "Always" }] },
        status: status([running], {
          initContainerStatuses: [{ name: "s", started: true, ready: true, restartCount: 1, state: { running: {} } }],
        }),
      },
      "2/2",
      "Running",
      "1",
    ],
    [
      "restarted",
      {
        spec,
        status: status([
          { ...running, restartCount: 3, lastState: { terminated: { finishedAt: "2026-01-31T11:55:00Z" } } },
        ]),
      },
      "1/1",
      "Running",
      "3 (5m ago)",
    ],
  ];
  test.each(cases)("%s", (_, pod, ready, text, restarts) => {
    const row = named(podTable, pod);
    expect([row["Ready"], row["Status"], row["Restarts"]]).toEqual([ready, text, restarts]);
  });

  test("without a first address shows the first of all", () => {
    expect(named(podTable, { status: { podIPs: [{ ip: "10.0.0.7" }, { ip: "::7" }] } })).toMatchObject({
      IP: "10.0.0.7",
    });
    expect(named(podTable, {})).toMatchObject({ IP: "<none>", Node: "<none>", "Readiness Gates": "<none>" });
  });

  test("a wide row says where it runs", () => {
    expect(
      named(podTable, {
        spec: { ...spec, nodeName: "n", readinessGates: [{ conditionType: "G" }] },
        status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "G", status: "True" }] },
      }),
    ).toMatchObject({
      IP: "10.0.0.1",
      Node: "n",
      "Nominated Node": "<none>",
      "Readiness Gates": "1/1",
      Age: "2m",
    });
  });
});

describe("jobs", () => {
  const condition = (type: string): JsonObject => ({ conditions: [{ type, status: "True" }] });
  test.each<[JsonObject, string]>([
    [{}, "Running"],
    [condition("Complete"), "Complete"],
    [condition("Failed"), "Failed"],
    [condition("Suspended"), "Suspended"],
    [condition("FailureTarget"), "FailureTarget"],
    [condition("SuccessCriteriaMet"), "SuccessCriteriaMet"],
  ])("of status %j are %s", (status, text) => {
    expect(named(jobTable, { status })).toMatchObject({ Status: text });
  });

  test("that are deleted before their end are Terminating", () => {
    expect(named(jobTable, { metadata: { ...metadata, deletionTimestamp: "2026-01-31T12:00:00Z" } })).toMatchObject({
      Status: "Terminating",
    });
  });

  test.each<[JsonObject, JsonObject, string]>([
    [{ completions: 3 }, { succeeded: 1 }, "1/3"],
    [{ parallelism: 4 }, { succeeded: 0 }, "0/1 of 4"],
    [{ parallelism: 1 }, {}, "0/1"],
  ])("of spec %j with %j have completed %s", (spec, status, text) => {
    expect(named(jobTable, { spec, status })).toMatchObject({ Completions: text });
  });

  test.each<[JsonObject, string]>([
    [{}, ""],
    [{ startTime: "2026-01-31T11:59:10Z" }, "50s"],
    [{ startTime: "2026-01-31T11:00:00Z", completionTime: "2026-01-31T11:00:07Z" }, "7s"],
  ])("of status %j took %j", (status, text) => {
    expect(named(jobTable, { status })).toMatchObject({ Duration: text });
  });

  test("show containers, images and selector when there is room", () => {
    const spec = {
      selector: { matchLabels: { a: "b" } },
      template: {
        spec: {
          containers: [
            { name: "c", image: "i" },
            { name: "d", image: "j" },
          ],
        },
      },
    };
    expect(named(jobTable, { spec })).toMatchObject({ Containers: "c,d", Images: "i,j", Selector: "a=b" });
  });
});

test.each<[JsonObject | undefined, string]>([
  [undefined, "<none>"],
  [{}, "<none>"],
  [{ matchLabels: { b: "2", a: "1" } }, "a=1,b=2"],
  [{ matchLabels: { z: "1" }, matchExpressions: [{ key: "y", operator: "In", values: ["b", "a"] }] }, "y in (a,b),z=1"],
  [
    {
      matchExpressions: [
        { key: "k", operator: "In", values: ["x", "y"] },
        { key: "l", operator: "Exists" },
        { key: "m", operator: "DoesNotExist" },
        { key: "n", operator: "NotIn", values: ["z"] },
      ],
    },
    "k in (x,y),l,!m,n notin (z)",
  ],
])("the selector %j reads %s", (selector, text) => {
  expect(formatSelector(selector)).toBe(text);
});

describe("events", () => {
  const event = {
    involvedObject: { kind: "Pod", name: "p", fieldPath: "spec.containers{c}" },
    type: "Normal",
    reason: "Started",
    message: " container started\n",
    source: { component: "runner", host: "here" },
  };

  test("of the old form show their first and last time and their count", () => {
    expect(
      named(eventTable, {
        ...event,
        firstTimestamp: "2026-01-31T11:50:00Z",
        lastTimestamp: "2026-01-31T11:59:00Z",
        count: 4,
      }),
    ).toEqual({
      "Last Seen": "60s",
      Type: "Normal",
      Reason: "Started",
      Object: "pod/p",
      Subobject: "spec.containers{c}",
      Source: "runner, here",
      Message: "container started",
      "First Seen": "10m",
      Count: 4,
      Name: "x",
    });
  });

  test("of the new form show their series", () => {
    const row = named(eventTable, {
      ...event,
      source: {},
      reportingComponent: "controller",
      eventTime: "2026-01-31T11:50:00.000000Z",
      series: { count: 9, lastObservedTime: "2026-01-31T11:59:30.000000Z" },
    });
    expect(row).toMatchObject({ "Last Seen": "30s", "First Seen": "10m", Count: 9, Source: "controller" });
  });

  test("that happened once count as one", () => {
    expect(named(eventTable, event)).toMatchObject({ Count: 1, "Last Seen": "<unknown>" });
  });
});

test("small kinds show what they are known by", () => {
  expect(named(namespaceTable, { status: { phase: "Active" } })).toEqual({ Name: "x", Status: "Active", Age: "2m" });
  expect(named(configMapTable, { data: { a: "" }, binaryData: { b: "" } })).toEqual({ Name: "x", Data: 2, Age: "2m" });
  expect(named(secretTable, { type: "Opaque", data: { a: "" } })).toEqual({
    Name: "x",
    Type: "Opaque",
    Data: 1,
    Age: "2m",
  });
  expect(named(leaseTable, { spec: { holderIdentity: "h" } })).toEqual({ Name: "x", Holder: "h", Age: "2m" });
  expect(named(customResourceDefinitionTable, {})).toEqual({ Name: "x", "Created At": "2026-01-31T11:58:00Z" });
});

test("every served kind has one cell per column, whatever the object lacks", () => {
  for (const resource of createRegistry({ now: () => now }).all()) {
    const row = resource.row({ metadata: { name: "x" } }, now);
    expect(row).toHaveLength(resource.columns.length);
    expect(row.filter((cell) => cell === undefined)).toEqual([]);
  }
});

describe("a rendered table", () => {
  const resource = { columns: namespaceTable.columns, row: namespaceTable.row };
  const object = { apiVersion: "v1", kind: "Namespace", metadata, status: { phase: "Active" } };

  test("carries metadata of its rows by default", () => {
    expect(renderTable(resource, [object], { now, metadata: { resourceVersion: "7" } })).toEqual({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "7" },
      columnDefinitions: [
        {
          name: "Name",
          type: "string",
          format: "name",
          description: "Name of the object, unique within its namespace.",
          priority: 0,
        },
        {
          name: "Status",
          type: "string",
          format: "",
          description: "Active, or Terminating while its contents are removed.",
          priority: 0,
        },
        { name: "Age", type: "string", format: "", description: "Time since the object was created.", priority: 0 },
      ],
      rows: [
        {
          cells: ["x", "Active", "2m"],
          object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata },
        },
      ],
    });
  });

  test("carries the object, or nothing, when asked", () => {
    const rows = (includeObject: "Object" | "None") => renderTable(resource, [object], { now, includeObject }).rows;
    expect(rows("Object")[0]?.object).toBe(object);
    expect(rows("None")).toEqual([{ cells: ["x", "Active", "2m"] }]);
  });

  test("leaves the columns out after the first event of a watch", () => {
    expect(renderTable(resource, [], { now, withColumns: false }).columnDefinitions).toBeNull();
  });
});

describe("cells of events", () => {
  const cellsOf = (event: JsonObject) => named(eventTable, event);

  test.each<[JsonObject, string]>([
    [{ kind: "Pod", name: "p" }, "pod/p"],
    [{ kind: "CustomResourceDefinition", name: "a.b" }, "customresourcedefinition/a.b"],
    [{ kind: "Pod" }, "pod"],
    [{}, ""],
  ])("about %j say %j", (involvedObject, text) => {
    expect(cellsOf({ involvedObject })["Object"]).toBe(text);
  });

  test.each<[JsonObject, string]>([
    [{ source: { component: "c", host: "h" }, reportingComponent: "r", reportingInstance: "i" }, "c, h"],
    [{ reportingComponent: "r", reportingInstance: "i" }, "r, i"],
    [{ source: { component: "c" } }, "c"],
    [{}, ""],
  ])("from %j say %j", (event, text) => {
    expect(cellsOf(event)["Source"]).toBe(text);
  });

  test.each<[JsonObject, number]>([
    [{}, 1],
    [{ count: 0 }, 1],
    [{ count: 3 }, 3],
    [{ count: 3, series: { count: 7 } }, 7],
  ])("counted as %j say %i", (event, count) => {
    expect(cellsOf(event)["Count"]).toBe(count);
  });

  test("that were seen once say so in both columns", () => {
    expect(cellsOf({ eventTime: "2026-01-31T11:59:30.000000Z" })).toMatchObject({
      "Last Seen": "30s",
      "First Seen": "30s",
    });
  });
});

describe("ages", () => {
  test.each<[JsonObject, string]>([
    [{ creationTimestamp: "2026-01-31T12:00:00Z" }, "0s"],
    [{ creationTimestamp: "2026-01-31T13:00:00+01:00" }, "0s"],
    [{ creationTimestamp: "2026-01-31T12:00:01Z" }, "0s"],
    [{ creationTimestamp: "2026-01-31T12:00:02Z" }, "<invalid>"],
    [{ creationTimestamp: "2026-02-01T00:00:00Z" }, "<invalid>"],
    [{ creationTimestamp: "yesterday" }, "<unknown>"],
    [{ creationTimestamp: null }, "<unknown>"],
    [{}, "<unknown>"],
  ])("of %j are %s", (given, age) => {
    expect(configMapTable.row({ metadata: { name: "x", ...given } }, now)[2]).toBe(age);
  });
});

test("no table shows a value of a secret", () => {
  const row = named(secretTable, { type: "Opaque", data: { password: "c2VjcmV0" } });
  expect(JSON.stringify(row)).not.toMatch(/c2VjcmV0|secret"|password/);
});

describe("what keeps pods alive", () => {
  const template = {
    spec: {
      containers: [
        { name: "a", image: "i" },
        { name: "b", image: "j" },
      ],
    },
  };
  const selector = { matchLabels: { app: "x" } };

  test("shows how many pods there are, of those wanted", () => {
    const spec = { replicas: 3, selector, template };
    expect(
      named(deploymentTable, {
        spec,
        status: { readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2, replicas: 4 },
      }),
    ).toEqual({
      Name: "x",
      Ready: "2/3",
      "Up-to-date": 1,
      Available: 2,
      Age: "2m",
      Containers: "a,b",
      Images: "i,j",
      Selector: "app=x",
    });
    expect(named(replicaSetTable, { spec, status: { replicas: 4, readyReplicas: 2 } })).toMatchObject({
      Desired: 3,
      Current: 4,
      Ready: 2,
    });
  });

  test("shows zeros before anything was reported, and of a set that is scaled to nothing", () => {
    expect(named(deploymentTable, { spec: { replicas: 0 } })).toMatchObject({
      Ready: "0/0",
      "Up-to-date": 0,
      Available: 0,
    });
    expect(named(replicaSetTable, {})).toMatchObject({ Desired: 0, Current: 0, Ready: 0, Selector: "<none>" });
  });
});
