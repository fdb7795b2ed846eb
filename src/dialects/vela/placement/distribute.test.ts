import fc from "fast-check";
import { expect, test } from "vitest";
import {
  becomeReady,
  clientWith,
  component,
  deployment,
  fakeApp,
  fakeScope,
  kindOf,
  replicasIn,
} from "../ops/testing/fake-scope.ts";
import { Namespace } from "#kernel/model/index.ts";
import { distribute } from "./distribute.ts";
import { byLargestRemainder, readShare, shareReplicas } from "./shares.ts";

const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1" } };
const placement = [
  { clusterSelector: { region: "east" }, replicas: "70%" },
  { clusterSelector: { region: "west" }, replicas: "20%" },
];
const regions = { east: { region: "east" }, west: { region: "west" } };
const app = fakeApp([component("web", deployment("web", 10), configMap)]);
const world = () => ({ clients: { local: clientWith(), east: clientWith(), west: clientWith(), east2: clientWith() } });

test("17.15 14.1 ten replicas by 70 % and 20 % are 7 and 2, and a third cluster makes them 4, 3 and 2", async () => {
  const { clients } = world();
  const scope = fakeScope(app, { clients, labels: regions });
  expect(await distribute({ $params: { placement } }, scope)).toMatchObject({ kind: "wait" });
  await Promise.all([clients.east, clients.west].map(becomeReady));
  expect(await distribute({ $params: { placement } }, scope)).toMatchObject({
    kind: "continue",
    result: {
      $returns: {
        placements: [
          { cluster: "east", replicas: 7 },
          { cluster: "west", replicas: 2 },
        ],
      },
    },
  });
  const third = fakeScope(app, { clients, labels: { ...regions, east2: { region: "east" } } });
  await distribute({ placement }, third);
  const counts = await Promise.all([clients.east, clients.east2, clients.west].map(replicasIn));
  expect(counts).toEqual([{ web: 4 }, { web: 3 }, { web: 2 }]);
  const type = kindOf("/v1", "ConfigMap", "configmaps");
  expect(await clients.west.get({ type, namespace: "default", name: "settings" })).toMatchObject({ data: { a: "1" } });
});

test("17.15 14.1 an unplugged cluster is awaited by name, and the others go on", async () => {
  const { clients } = world();
  const unplugged = new Set(["east"]);
  const scope = fakeScope(app, { clients, labels: regions, unplugged });
  const answer = await distribute({ placement }, scope);
  expect(answer).toMatchObject({ kind: "wait", message: expect.stringContaining("cluster east cannot be reached") });
  expect(await replicasIn(clients.west)).toEqual({ web: 2 });
  unplugged.clear();
  await distribute({ placement }, scope);
  await Promise.all([clients.east, clients.west].map(becomeReady));
  expect(await distribute({ placement }, scope)).toMatchObject({ kind: "continue" });
});

test("a cluster managed by Open Cluster Management gets a ManifestWork, and its conditions are awaited", async () => {
  const type = kindOf("work.open-cluster-management.io/v1", "ManifestWork", "manifestworks");
  const local = clientWith([type]);
  await local.create(Namespace, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "east" },
  });
  const scope = fakeScope(app, { clients: { local }, labels: { east: { region: "east" } } });
  const input = { placement: [{ clusterSelector: { labels: { region: "east" } } }] };
  expect(await distribute(input, scope)).toEqual({ kind: "wait", message: "east: ManifestWork shop is not applied" });
  const ref = { type, namespace: "east", name: "shop" };
  const work = await local.get(ref);
  expect(work).toMatchObject({
    spec: { workload: { manifests: [{ spec: { replicas: 10 } }, { kind: "ConfigMap" }] } },
  });
  const conditions = ["Applied", "Available"].map((each) => ({ type: each, status: "True" }));
  await local.patch(ref, { type: "merge", body: { status: { conditions } } });
  await local.patch(ref, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });
  expect(await distribute(input, scope)).toMatchObject({ kind: "continue" });
});

test("bad input: a selector that matches no cluster, and a share that is none", async () => {
  const scope = fakeScope(app, { clients: world().clients, labels: regions });
  const place = (entry: object) => distribute({ placement: [{ ...entry }] }, scope);
  expect(await place({ clusterSelector: { region: "north" } })).toEqual({
    kind: "fail",
    message: "no cluster matches region=north",
  });
  expect(await place({ clusterSelector: {}, replicas: "many" })).toEqual({
    kind: "fail",
    message: 'placement[0].replicas: expected "70%" or a number, found "many"',
  });
  expect(await distribute({}, scope)).toMatchObject({ kind: "fail" });
});

test("a sum of shares that ends in a half is rounded up", () => {
  expect(byLargestRemainder(786, [95, 68, 72, 74, 42, 24]).reduce((all, part) => all + part, 0)).toBe(2948);
});

test("shares add up to the rounded share of their sum, and none is off by one or more", () => {
  const percentages = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1000 }), percentages, (total, each) => {
      const parts = byLargestRemainder(total, each);
      const sum = each.reduce((all, percent) => all + percent, 0);
      expect(parts.reduce((all, part) => all + part, 0)).toBe(Math.round((total * sum) / 100));
      for (const [index, part] of parts.entries())
        expect(Math.abs(part - (total * (each[index] ?? 0)) / 100)).toBeLessThan(1);
    }),
    { numRuns: 200 },
  );
});

test("a cluster of several entries gets all their shares; numbers and absent shares are taken as written", () => {
  const entry = (replicas: unknown, ...clusters: readonly string[]) => {
    const share = readShare(replicas);
    if (share === undefined) throw new Error("unreadable");
    return { share, clusters };
  };
  expect([...shareReplicas(5, [entry("50%", "a"), entry(2, "a", "b"), entry(undefined, "c")])]).toEqual([
    ["a", 4],
    ["b", 1],
    ["c", 5],
  ]);
});
