import { expect, test } from "vitest";
import { component, policy } from "../testing/fixtures.ts";
import { keepingLive, keptPaths, updateWay } from "./apply-rules.ts";
import { deepMerge, nameMatcher, overrideComponents } from "./override.ts";
import { replicateComponents } from "./replication.ts";
import { garbageSettings, retentionOf } from "./retention.ts";
import { ruleFor } from "./rules.ts";
import { placementsOf } from "./topology.ts";

const web = component("web", "webservice", {
  properties: { image: "nginx", env: [{ name: "a" }], limits: { cpu: "1", memory: "1G" } },
  traits: [
    { type: "scaler", properties: { replicas: 1 } },
    { type: "expose", properties: { port: 80 } },
  ],
});
const worker = component("web-worker", "worker", { properties: { image: "busybox" } });
const override = (components: object[], more: object = {}) => policy("override", { components, ...more } as never);

test("17.17 override: a name with a wildcard is anchored, objects merge, lists are replaced, a trait is disabled", () => {
  const change = {
    name: "web*",
    properties: { env: [{ name: "b" }], limits: { cpu: "2" } },
    traits: [
      { type: "scaler", properties: { replicas: 5 } },
      { type: "expose", disable: true },
      { type: "labels", properties: { a: "b" } },
    ],
  };
  const [first, second, third] = overrideComponents(
    [web, worker, component("my-web", "webservice")],
    [override([change])],
  );
  expect(first).toMatchObject({
    properties: { image: "nginx", env: [{ name: "b" }], limits: { cpu: "2", memory: "1G" } },
    traits: [
      { type: "scaler", properties: { replicas: 5 } },
      { type: "labels", properties: { a: "b" } },
    ],
  });
  expect(second?.properties).toEqual({ image: "busybox", env: [{ name: "b" }], limits: { cpu: "2" } });
  expect(third).toEqual(component("my-web", "webservice"));
});

test("17.17 override: another type replaces the properties", () => {
  const [changed] = overrideComponents(
    [web],
    [override([{ name: "web", type: "worker", properties: { cmd: ["a"] } }])],
  );
  expect(changed).toMatchObject({ type: "worker", properties: { cmd: ["a"] } });
});

test("override without a name changes all components, or those of its type; one that matches none is new", () => {
  const all = overrideComponents([web, worker], [override([{ properties: { tag: "x" } }])]);
  expect(all.map(({ properties }) => properties["tag"])).toEqual(["x", "x"]);
  const some = overrideComponents([web, worker], [override([{ type: "worker", properties: { tag: "x" } }])]);
  expect(some.map(({ properties }) => properties["tag"])).toEqual([undefined, "x"]);
  const more = overrideComponents([web], [override([{ name: "db", type: "worker", properties: { image: "pg" } }])]);
  expect(more.map(({ name }) => name)).toEqual(["web", "db"]);
});

test("override keeps only the selected components", () => {
  const kept = overrideComponents([web, worker], [override([], { selector: ["web-*"] })]);
  expect(kept.map(({ name }) => name)).toEqual(["web-worker"]);
});

test.each([
  ["a*c", "abc", true],
  ["a*c", "ac", true],
  ["a*a", "a", false],
  ["*b*", "abc", true],
  ["a*b*c", "acb", false],
  ["a.c", "abc", false],
  ["abc", "abcd", false],
])("the pattern %s and the name %s", (pattern, name, expected) => {
  expect(nameMatcher(pattern)(name)).toBe(expected);
});

test("merging does not change what it is given", () => {
  const base = Object.freeze({ a: Object.freeze({ b: 1 }) });
  expect(deepMerge(base, { a: { c: 2 } })).toEqual({ a: { b: 1, c: 2 } });
  expect(base).toEqual({ a: { b: 1 } });
});

const clusters = [
  { name: "local", labels: {} },
  { name: "east", labels: { region: "east" } },
  { name: "west", labels: { region: "west" } },
];
const topology = (properties: object, name = "topology") => policy("topology", properties as never, name);

test("17.17 topology: clusters by name and by label, each place once and in order", () => {
  const both = [
    topology({ clusters: ["west", "east"] }),
    topology({ clusterLabelSelector: { region: "east" } }),
    topology({ clusters: ["east"], namespace: "prod" }),
  ];
  expect(placementsOf(both, clusters)).toEqual({
    ok: true,
    value: [{ cluster: "west" }, { cluster: "east" }, { cluster: "east", namespace: "prod" }],
  });
});

test("without topology, or without clusters in it, components are placed on local", () => {
  expect(placementsOf([], clusters)).toEqual({ ok: true, value: [{ cluster: "local" }] });
  expect(placementsOf([topology({ namespace: "a" })], clusters)).toEqual({
    ok: true,
    value: [{ cluster: "local", namespace: "a" }],
  });
});

test("bad input: topology with an unknown cluster, and a selector that matches none unless that is allowed", () => {
  expect(placementsOf([topology({ clusters: ["x"] })], clusters)).toEqual({
    ok: false,
    error: "failed to get cluster x",
  });
  const selector = { clusterLabelSelector: { region: "south" } };
  expect(placementsOf([topology(selector, "south")], clusters)).toEqual({
    ok: false,
    error: 'policy "south": no cluster matches region=south',
  });
  expect(placementsOf([topology({ ...selector, allowEmpty: true })], clusters)).toEqual({ ok: true, value: [] });
});

test("replication copies the selected components, one for each key", () => {
  const copies = replicateComponents([web, worker], [policy("replication", { keys: ["a", "b"], selector: ["web"] })]);
  expect(copies.map(({ name, replicaKey }) => [name, replicaKey])).toEqual([
    ["web", "a"],
    ["web", "b"],
    ["web-worker", undefined],
  ]);
});

test("a rule needs all of its lists; the first one that matches wins", () => {
  const rules = policy("garbage-collect", {
    rules: [
      { selector: { componentNames: ["web"], oamTypes: ["TRAIT"] }, strategy: "never" },
      { selector: { componentNames: ["web"] }, strategy: "onAppDelete" },
      { strategy: "onAppUpdate" },
    ],
  });
  const subject = { component: "web", role: "WORKLOAD", kind: "Deployment", name: "web" } as const;
  expect(ruleFor(rules, subject)).toMatchObject({ strategy: "onAppDelete" });
  expect(ruleFor(rules, { ...subject, role: "TRAIT" })).toMatchObject({ strategy: "never" });
  expect(ruleFor(rules, { ...subject, component: "db" })).toMatchObject({ strategy: "onAppUpdate" });
  expect(retentionOf({ policies: [rules] }, subject)).toEqual({ strategy: "onAppDelete", isOrphaning: false });
});

test("the settings of garbage collection", () => {
  const policies = [
    policy("garbage-collect", { order: "dependency", keepLegacyResource: true, applicationRevisionLimit: 3 }),
  ];
  expect(garbageSettings({ policies })).toEqual({
    keepsLegacy: true,
    continuesOnFailure: false,
    inOrder: true,
    revisionLimit: 3,
  });
});

const object = {
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a" },
  spec: { replicas: 1, ports: [{ port: 1 }] },
};
const live = { ...object, spec: { replicas: 4, ports: [{ port: 2 }] } };

test("17.17 apply-once: an enabled policy without rules is about state keep alone; with rules, about their paths", () => {
  const subject = { kind: "Thing", name: "a" };
  const simple = { policies: [policy("apply-once", { enable: true })] };
  expect(keptPaths(simple, subject, "onStateKeep")).toEqual(["*"]);
  expect(keptPaths(simple, subject, "onUpdate")).toEqual([]);
  expect(keepingLive(object, live, ["*"])).toBeUndefined();
  expect(keepingLive(object, undefined, ["*"])).toBe(object);
  expect(keepingLive(object, live, ["spec.ports[0].port", "spec.absent"])).toMatchObject({
    spec: { replicas: 1, ports: [{ port: 2 }] },
  });
});

test("17.17 resource-update replaces, or recreates when a listed field differs", () => {
  const subject = { kind: "Thing", name: "a" };
  const rules = (strategy: object) => ({ policies: [policy("resource-update", { rules: [{ strategy }] } as never)] });
  expect(updateWay(rules({ op: "replace" }), subject, object, live)).toBe("replace");
  expect(updateWay(rules({ recreateFields: ["spec.replicas"] }), subject, object, live)).toBe("recreate");
  expect(updateWay(rules({ recreateFields: ["spec.replicas"] }), subject, object, object)).toBe("patch");
  expect(updateWay({ policies: [] }, subject, object, live)).toBe("patch");
});
