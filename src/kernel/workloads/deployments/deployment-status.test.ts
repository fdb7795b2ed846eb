import { describe, expect, test } from "vitest";
import { formatTime, type Instant } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import {
  type DeploymentObject,
  type DeploymentSpec,
  type DeploymentStatus,
  type ReplicaSetStatus,
  revisionAnnotation,
  revisionHistoryAnnotation,
} from "../deployment-types.ts";
import { deadlineOf, isComplete, statusOf } from "./deployment-status.ts";
import { currentAnnotations, nextRevision, revisionOf, sizeAnnotations } from "./revisions.ts";
import { rolloutBudget } from "./rollout-budget.ts";
import type { OwnedSet, Rollout } from "./sizes.ts";
import { isSameTemplate, templateHash } from "../template-hash.ts";

const start: Instant = Date.UTC(2026, 0, 1);
const at = (seconds: number): Instant => start + seconds * 1000;
const time = (seconds: number): string => formatTime(at(seconds));
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "one" }] } };

function deployment(
  spec: Partial<DeploymentSpec> = {},
  status: DeploymentStatus = {},
  annotations: Readonly<Record<string, string>> = {},
): Stored<DeploymentObject> {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "d",
      resourceVersion: "1",
      generation: 2,
      creationTimestamp: time(0),
      annotations,
    },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: "web" } },
      template,
      progressDeadlineSeconds: 60,
      ...spec,
    },
    status,
  };
}

/** A set that wants so many Pods and tells of them. */
const set = (
  name: string,
  replicas: number,
  status: Partial<ReplicaSetStatus> = {},
  annotations: Readonly<Record<string, string>> = {},
): OwnedSet => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { name, namespace: "default", uid: name, resourceVersion: "1", creationTimestamp: time(0), annotations },
  spec: { replicas, selector: { matchLabels: { app: "web" } }, template },
  status: { replicas, ...status },
});

const full = (name: string, replicas: number): OwnedSet =>
  set(name, replicas, { readyReplicas: replicas, availableReplicas: replicas });
const rollout = (given: Stored<DeploymentObject>, current?: OwnedSet, old: readonly OwnedSet[] = []): Rollout => ({
  deployment: given,
  current,
  old,
});
const progressing = (reason: string, seconds: number): DeploymentStatus => ({
  observedGeneration: 2,
  replicas: 4,
  conditions: [
    {
      type: "Progressing",
      status: "True",
      reason,
      message: "",
      lastUpdateTime: time(seconds),
      lastTransitionTime: time(0),
    },
  ],
});
const reasonOf = (status: DeploymentStatus, type = "Progressing") => {
  const condition = conditionOf(status.conditions, type);
  return condition === undefined ? undefined : `${condition.status} ${condition.reason}`;
};

describe("counts", () => {
  test("are sums over the sets, the updated ones those of the present set", () => {
    const sets = rollout(deployment(), set("new", 2, { readyReplicas: 1, availableReplicas: 1 }), [full("old", 3)]);
    expect(statusOf(sets, false, at(0))).toMatchObject({
      observedGeneration: 2,
      replicas: 5,
      updatedReplicas: 2,
      readyReplicas: 4,
      availableReplicas: 4,
      unavailableReplicas: 1,
    });
  });

  test("are absent when they are 0, and collisions are kept", () => {
    const { conditions: _conditions, ...counts } = statusOf(
      rollout(deployment({}, { collisionCount: 3, replicas: 9 })),
      false,
      at(0),
    );
    expect(counts).toEqual({ observedGeneration: 2, collisionCount: 3 });
  });
});

describe("Available", () => {
  // A quarter of four may be missing.
  test.each([
    [4, "True MinimumReplicasAvailable"],
    [3, "True MinimumReplicasAvailable"],
    [2, "False MinimumReplicasUnavailable"],
  ])("with %i of 4", (availableReplicas, expected) => {
    const status = statusOf(rollout(deployment(), set("new", 4, { availableReplicas })), false, at(0));
    expect(reasonOf(status, "Available")).toBe(expected);
  });
});

describe("Progressing", () => {
  const unready = set("new", 4);
  test.each<[string, Rollout, boolean, number, string | undefined]>([
    ["a set that was just made", rollout(deployment(), unready), true, 0, "True NewReplicaSetCreated"],
    ["a set that was there already", rollout(deployment(), unready), false, 0, "True FoundNewReplicaSet"],
    [
      "all Pods of the present template",
      rollout(deployment({}, progressing("ReplicaSetUpdated", 0)), full("new", 4)),
      false,
      0,
      "True NewReplicaSetAvailable",
    ],
    [
      "more Pods than before",
      rollout(deployment({}, progressing("NewReplicaSetCreated", 0)), set("new", 4, { readyReplicas: 1 })),
      false,
      10,
      "True ReplicaSetUpdated",
    ],
    [
      "no move within the deadline",
      rollout(deployment({}, { ...progressing("ReplicaSetUpdated", 0), updatedReplicas: 4 }), unready),
      false,
      59,
      "True ReplicaSetUpdated",
    ],
    [
      "no move at the deadline",
      rollout(deployment({}, { ...progressing("ReplicaSetUpdated", 0), updatedReplicas: 4 }), unready),
      false,
      60,
      "False ProgressDeadlineExceeded",
    ],
    [
      "a finished rollout whose Pods fail later",
      rollout(deployment({}, { ...progressing("NewReplicaSetAvailable", 0), updatedReplicas: 4 }), unready),
      false,
      9999,
      "True NewReplicaSetAvailable",
    ],
    ["a pause", rollout(deployment({ paused: true }), unready), false, 0, "Unknown DeploymentPaused"],
    [
      "the end of a pause",
      rollout(deployment({}, progressing("DeploymentPaused", 0)), unready),
      false,
      0,
      "Unknown DeploymentResumed",
    ],
    ["no deadline", rollout(deployment({ progressDeadlineSeconds: 2_147_483_647 }), unready), true, 0, undefined],
  ])("%s", (_what, sets, isNew, seconds, expected) => {
    expect(reasonOf(statusOf(sets, isNew, at(seconds)))).toBe(expected);
  });

  test("each move starts the deadline anew, without a transition", () => {
    const before = deployment({}, progressing("ReplicaSetUpdated", 0));
    const sets = rollout(before, set("new", 4, { readyReplicas: 2 }));
    const status = statusOf(sets, false, at(50));
    expect(conditionOf(status.conditions, "Progressing")).toMatchObject({
      lastUpdateTime: time(50),
      lastTransitionTime: time(0),
    });
    expect(deadlineOf(sets, status)).toBe(at(110));
  });

  test("nothing is waited for when a rollout is complete or paused", () => {
    const done = rollout(deployment({}, progressing("ReplicaSetUpdated", 0)), full("new", 4));
    expect(deadlineOf(done, statusOf(done, false, at(0)))).toBeUndefined();
    const paused = rollout(deployment({ paused: true }, progressing("ReplicaSetUpdated", 0)), unready);
    expect(deadlineOf(paused, statusOf(paused, false, at(0)))).toBeUndefined();
  });
});

test("a rollout is complete when all Pods are new and available, and the status is of this generation", () => {
  const complete = { observedGeneration: 2, replicas: 4, updatedReplicas: 4, availableReplicas: 4 };
  const of = (more: DeploymentStatus) => isComplete(rollout(deployment()), { ...complete, ...more });
  expect(of({})).toBe(true);
  for (const less of [{ replicas: 5 }, { updatedReplicas: 3 }, { availableReplicas: 3 }, { observedGeneration: 1 }])
    expect([less, of(less)]).toEqual([less, false]);
});

test("ReplicaFailure is that of a set, of the present one first, and goes with it", () => {
  const failing = (name: string) => {
    const failure = { type: "ReplicaFailure", status: "True" as const, reason: "FailedCreate", message: name };
    return set(name, 4, { conditions: [{ ...failure, lastTransitionTime: time(0) }] });
  };
  const status = statusOf(rollout(deployment(), failing("new"), [failing("old")]), false, at(0));
  expect(conditionOf(status.conditions, "ReplicaFailure")).toMatchObject({ status: "True", message: "new" });
  const healed = statusOf(rollout(deployment({}, status), full("new", 4)), false, at(1));
  expect(conditionOf(healed.conditions, "ReplicaFailure")).toBeUndefined();
});

describe("revisions", () => {
  const numbered = (revision: string, more: object = {}) =>
    set("s", 0, {}, { [revisionAnnotation]: revision, ...more });

  test("are one more than those of all other sets", () => {
    expect(nextRevision([])).toBe(1);
    expect(nextRevision([numbered("3"), numbered("7"), numbered("soon")])).toBe(8);
    expect([revisionOf(numbered("07")), revisionOf(numbered("-1")), revisionOf(set("s", 0))]).toEqual([7, 0, 0]);
  });

  test("a template that comes back remembers the ones it had", () => {
    const first = currentAnnotations(deployment(), numbered("2"), 5);
    expect(first).toMatchObject({ [revisionAnnotation]: "5", [revisionHistoryAnnotation]: "2" });
    const second = currentAnnotations(deployment(), set("s", 0, {}, first), 9);
    expect(second).toMatchObject({ [revisionAnnotation]: "9", [revisionHistoryAnnotation]: "2,5" });
    expect(currentAnnotations(deployment(), numbered("5"), 5)).toEqual({ [revisionAnnotation]: "5" });
  });

  test("the Deployment's own annotations go along, those about itself do not", () => {
    const own = {
      "kubernetes.io/change-cause": "because",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      [revisionAnnotation]: "9",
    };
    expect(currentAnnotations(deployment({}, {}, own), undefined, 1)).toEqual({
      "kubernetes.io/change-cause": "because",
      [revisionAnnotation]: "1",
    });
  });

  test("a set says for which size it was scaled", () => {
    expect(sizeAnnotations(deployment())).toEqual({
      "deployment.kubernetes.io/desired-replicas": "4",
      "deployment.kubernetes.io/max-replicas": "5",
    });
  });
});

// Shares of surge are rounded up, those of unavailability down; both nothing means that one may be missing.
test.each([
  [10, "25%", "25%", { surge: 3, unavailable: 2 }],
  [1, "25%", "25%", { surge: 1, unavailable: 0 }],
  [4, 0, "20%", { surge: 0, unavailable: 1 }],
  [3, 2, 5, { surge: 2, unavailable: 3 }],
  [0, "25%", "25%", { surge: 0, unavailable: 0 }],
] as const)("%i replicas may stray by %s and %s", (replicas, maxSurge, maxUnavailable, expected) => {
  const strategy = { type: "RollingUpdate" as const, rollingUpdate: { maxSurge, maxUnavailable } };
  expect(rolloutBudget(deployment({ replicas, strategy }))).toEqual(expected);
});

describe("the hash of a template", () => {
  test("is the same whatever the order of members, and another one after a collision", () => {
    const turned = { spec: { containers: [{ image: "one", name: "main" }] }, metadata: { labels: { app: "web" } } };
    const hash = templateHash(deployment());
    expect(templateHash(deployment({ template: turned }))).toBe(hash);
    expect(hash).toMatch(/^[bcdf2456789ghjklmn]{8}$/);
    expect(new Set([0, 1, 2, 3].map((collisions) => templateHash(deployment(), collisions))).size).toBe(4);
  });

  test("leaves the label out that is made of it", () => {
    const labels = { app: "web", "pod-template-hash": "x" };
    expect(isSameTemplate(deployment(), deployment({ template: { ...template, metadata: { labels } } }))).toBe(true);
    const other = { ...template, spec: { containers: [{ name: "main", image: "two" }] } };
    expect(isSameTemplate(deployment(), deployment({ template: other }))).toBe(false);
  });
});
