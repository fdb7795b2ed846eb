import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { podState } from "./observed-pod.ts";

const createdAt = Date.parse("2026-01-01T00:00:00Z");
const podWith = (status: JsonObject) =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "w", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    status,
  }) as unknown as Stored;
const state = (name: string, one: JsonObject): JsonObject => ({ name, state: one });
const waiting = (reason: string): JsonObject => ({ waiting: { reason, message: "words" } });
const running: JsonObject = { running: { startedAt: "2026-01-01T00:00:01Z" } };
const ended = (exitCode: number, reason = "Error"): JsonObject => ({
  terminated: { exitCode, reason, finishedAt: "2026-01-01T00:00:09Z" },
});
const finishedAt = createdAt + 9000;

const app = (one: JsonObject) => ({ containerStatuses: [state("app", one)] });
const init = (one: JsonObject) => ({ initContainerStatuses: [state("init", one)] });
const unscheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" };

test.each<[string, JsonObject, object]>([
  ["one that nobody has looked at", {}, { phase: "pending", status: "Scheduling" }],
  [
    "one without a node",
    { phase: "Pending", conditions: [unscheduled] },
    { status: "Scheduling", message: "Unschedulable: 0/3 nodes" },
  ],
  ["one that clones", { phase: "Pending", ...init(running) }, { phase: "pending", status: "Initializing" }],
  [
    "one whose image is being looked for",
    { phase: "Pending", ...init(waiting("ErrImagePull")) },
    { phase: "pending", message: "init: ErrImagePull: words" },
  ],
  [
    "one that builds",
    { phase: "Running", ...init(ended(0)), ...app(running) },
    { phase: "running", status: "Running" },
  ],
  ["one whose machine is silent", { phase: "Unknown" }, { phase: "pending", status: "Unknown" }],
  [
    "one that has succeeded",
    { phase: "Succeeded", ...app(ended(0, "Completed")) },
    { phase: "ended", status: "Success", finishedAt },
  ],
  [
    "one that could not clone",
    { phase: "Failed", ...init(ended(1)), ...app(waiting("PodInitializing")) },
    { phase: "ended", status: "Failed", message: "init has ended with exit code 1", finishedAt },
  ],
  [
    "one that wanted too much",
    { phase: "Failed", ...app(ended(137, "OOMKilled")) },
    { message: "app has ended with exit code 137 (OOMKilled)" },
  ],
  [
    "one that was evicted",
    { phase: "Failed", reason: "Evicted", message: "disk pressure" },
    { phase: "ended", message: "Evicted: disk pressure" },
  ],
])("%s", (_name, status, expected) => {
  expect(podState(podWith(status), createdAt + 10_000)).toMatchObject(expected);
});

test.each(["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"])(
  "a container that waits for %s is waited for, but not for ever",
  (reason) => {
    const pod = podWith({ phase: "Pending", ...init(waiting(reason)) });
    expect(podState(pod, createdAt + 59_999)).toMatchObject({ phase: "pending", status: "Scheduling" });
    expect(podState(pod, createdAt + 60_000)).toEqual({
      phase: "stuck",
      status: "Failed",
      message: `init: ${reason}: words`,
      finishedAt: createdAt + 60_000,
    });
  },
);
