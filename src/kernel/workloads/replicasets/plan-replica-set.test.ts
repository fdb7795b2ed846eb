import { describe, expect, test } from "vitest";
import { formatTime, type Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { ReplicaSetObject } from "../deployment-types.ts";
import { mostAtOnce, planReplicaSet } from "./plan-replica-set.ts";
import { byWorth, replicaPod, type ReplicaPod } from "./replica-pod.ts";

const start: Instant = Date.UTC(2026, 0, 1);
const at = (seconds: number): Instant => start + seconds * 1000;
const labels = { app: "web" };

const set = (spec: Partial<ReplicaSetObject["spec"]> = {}, metadata: object = {}): Stored<ReplicaSetObject> => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: {
    name: "web",
    namespace: "default",
    uid: "set",
    resourceVersion: "1",
    generation: 4,
    creationTimestamp: formatTime(start),
    ...metadata,
  },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels: { ...labels, tier: "front" } },
      spec: { containers: [{ name: "main", image: "i" }] },
    },
    ...spec,
  },
});

interface PodState {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly readyAt?: number;
  readonly bornAt?: number;
  readonly isLeaving?: boolean;
  readonly isFree?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly node?: string;
  readonly cost?: string;
  readonly restarts?: number;
}

/** A Pod of the set; running, and ready since it was born, unless told. */
function pod(name: string, state: PodState = {}): ReplicaPod {
  const { phase = "Running", bornAt = 0, isLeaving = false, isFree = false, node = "n", restarts = 0 } = state;
  const { readyAt = phase === "Running" ? bornAt : undefined } = state;
  const { metadata, spec } = replicaPod(set());
  const { ownerReferences = [], ...rest } = metadata;
  const ready = { type: "Ready", status: "True" as const, lastTransitionTime: formatTime(at(readyAt ?? 0)) };
  const container = { name: "main", state: {}, lastState: {}, ready: true, started: true, image: "", imageID: "" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...rest,
      name,
      uid: name,
      resourceVersion: "1",
      creationTimestamp: formatTime(at(bornAt)),
      labels: state.labels ?? rest.labels ?? {},
      ...(isFree ? {} : { ownerReferences }),
      ...(isLeaving ? { deletionTimestamp: formatTime(at(1)) } : {}),
      ...(state.cost === undefined
        ? {}
        : { annotations: { "controller.kubernetes.io/pod-deletion-cost": state.cost } }),
    },
    spec: { ...spec, ...(node === "" ? {} : { nodeName: node }) },
    status: {
      phase,
      conditions: readyAt === undefined || readyAt < 0 ? [] : [ready],
      containerStatuses: [{ ...container, restartCount: restarts }],
    },
  };
}

const names = (pods: readonly ReplicaPod[]) => pods.map(({ metadata }) => metadata.name);
const plan = (pods: readonly ReplicaPod[], spec: Partial<ReplicaSetObject["spec"]> = {}, seconds = 100) =>
  planReplicaSet(set(spec), pods, at(seconds));

describe("how many Pods", () => {
  test.each([
    ["none yet", [], {}, 2, []],
    ["one of two", [pod("a")], {}, 1, []],
    ["enough", [pod("a"), pod("b")], {}, 0, []],
    ["one when nothing is said", [], { replicas: undefined }, 1, []],
    ["none wanted", [pod("a")], { replicas: 0 }, 0, ["a"]],
    ["a Pod that is ending is none", [pod("a"), pod("b", { isLeaving: true })], {}, 1, []],
    ["a Pod that has ended is none", [pod("a"), pod("b", { phase: "Failed" })], {}, 1, []],
    ["no more at once than can be watched over", [], { replicas: 3 * mostAtOnce }, mostAtOnce, []],
  ] as const)("%s", (_what, pods, spec, create, remove) => {
    // An absent number is what a client of an older server may have stored.
    const { replicas, ...others } = { replicas: 2 as number | undefined, ...spec };
    const wanted = plan(pods, { ...others, ...(replicas === undefined ? {} : { replicas }) });
    const { replicas: _absent, ...bare } = set().spec;
    const made = replicas === undefined ? planReplicaSet({ ...set(), spec: bare }, pods, at(100)) : wanted;
    expect([made.create, names(made.remove)]).toEqual([create, remove]);
  });

  test("a set that is deleted makes none, and lets none go", () => {
    const leaving = set({}, { deletionTimestamp: formatTime(at(1)) });
    const made = planReplicaSet(leaving, [pod("a"), pod("free", { isFree: true }), pod("x", { labels: {} })], at(100));
    expect(made).toMatchObject({ adopt: [], letGo: [], create: 0, remove: [] });
  });
});

describe("whose Pods", () => {
  test("those that match and nobody controls are taken in, and count at once", () => {
    const made = plan([pod("free", { isFree: true })]);
    expect([names(made.adopt), made.create]).toEqual([["free"], 1]);
  });

  test("those that have ended are left alone", () => {
    expect(plan([pod("free", { isFree: true, phase: "Succeeded" })]).adopt).toEqual([]);
  });

  test("those that match no longer are let go, and replaced", () => {
    const made = plan([pod("a"), pod("b"), pod("odd", { labels: { app: "debug" } })]);
    expect([names(made.letGo), made.create]).toEqual([["odd"], 0]);
    expect(plan([pod("a"), pod("odd", { labels: {} })]).create).toBe(1);
  });

  test("those of another set are nobody's business", () => {
    const other = pod("a");
    const owned = { ...other.metadata, ownerReferences: [{ ...other.metadata.ownerReferences?.[0], uid: "other" }] };
    const stranger = { ...other, metadata: owned } as ReplicaPod;
    expect(plan([stranger])).toMatchObject({ adopt: [], letGo: [], create: 2 });
  });

  test("a selector that nobody can read matches nothing", () => {
    const selector = { matchExpressions: [{ key: "a", operator: "Like" }] } as never;
    expect(plan([pod("free", { isFree: true })], { selector })).toMatchObject({ adopt: [], create: 2 });
  });
});

describe("which Pod goes first", () => {
  // Each is worth less than the one after it, by one thing.
  test.each([
    ["one without a node", { node: "" }, {}],
    ["one that does not run yet", { phase: "Pending", readyAt: -1 }, { readyAt: -1 }],
    ["one that is not ready", { readyAt: -1 }, {}],
    ["one that costs less", { cost: "-5" }, { cost: "0" }],
    ["one whose cost is unreadable, like nothing", { cost: "cheap" }, { cost: "1" }],
    ["one that has been ready for less long", { readyAt: 50 }, { readyAt: 10 }],
    ["one that was restarted more often", { restarts: 3, readyAt: 0 }, { restarts: 1, readyAt: 0 }],
    ["the younger", { bornAt: 50, readyAt: 60 }, { bornAt: 10, readyAt: 60 }],
  ] as const)("%s", (_what, less, more) => {
    const pods = [pod("more", more), pod("less", less)];
    expect(names(pods.toSorted(byWorth))).toEqual(["less", "more"]);
    expect(names(plan(pods, { replicas: 1 }).remove)).toEqual(["less"]);
  });

  test("of equal ones it is always the same", () => {
    expect(names([pod("b"), pod("a")].toSorted(byWorth))).toEqual(["a", "b"]);
  });
});

describe("Pods that have ended", () => {
  const failed = (name: string, bornAt: number) => pod(name, { phase: "Failed", bornAt });

  test.each([
    ["after one, a second", 1, 1000],
    ["after two, four", 2, 4000],
    ["after three, sixteen", 3, 16_000],
    ["after more, sixty-four", 5, 64_000],
  ])("a new one comes after a pause: %s", (_what, count, pause) => {
    const failures = Array.from({ length: count }, (_, index) => failed(`f${index}`, index));
    const last = at(count - 1);
    const early = planReplicaSet(set({ replicas: 1 }), failures, last + pause - 1);
    expect([early.create, early.wakeAt]).toEqual([0, last + pause]);
    expect(planReplicaSet(set({ replicas: 1 }), failures, last + pause).create).toBe(1);
  });

  test("three are kept to look at, the oldest go", () => {
    expect(names(plan([0, 1, 2, 3, 4].map((born) => failed(`f${born}`, born))).remove)).toEqual(["f0", "f1"]);
  });
});

describe("the status", () => {
  test("counts what there is, without zeros but for replicas", () => {
    expect(plan([]).status).toEqual({ replicas: 0, observedGeneration: 4 });
    const pods = [
      pod("a"),
      pod("b", { readyAt: -1 }),
      pod("c", { labels }),
      pod("d", { isLeaving: true }),
      pod("e", { phase: "Failed" }),
    ];
    expect(plan(pods).status).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      terminatingReplicas: 1,
      observedGeneration: 4,
    });
  });

  test("a Pod is available when it has been ready for long enough, and that moment is waited for", () => {
    const pods = [pod("a", { readyAt: 0 }), pod("b", { readyAt: 95 })];
    const early = plan(pods, { minReadySeconds: 10 }, 104);
    expect([early.status.availableReplicas, early.wakeAt]).toEqual([1, at(105)]);
    const late = plan(pods, { minReadySeconds: 10 }, 105);
    expect([late.status.availableReplicas, late.wakeAt]).toEqual([2, undefined]);
  });
});

test("a Pod is made of the template, with a name to complete and the set as its controller", () => {
  expect(replicaPod(set())).toMatchObject({
    metadata: {
      generateName: "web-",
      namespace: "default",
      labels: { app: "web", tier: "front" },
      ownerReferences: [{ kind: "ReplicaSet", name: "web", uid: "set", controller: true, blockOwnerDeletion: true }],
    },
    spec: { containers: [{ name: "main" }] },
  });
});
