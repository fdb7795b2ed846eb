import { expect, test } from "vitest";
import { FakeClock, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { Ingress, Service } from "#kernel/model/index.ts";
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
import { Rollout } from "../schema/rollout.ts";
import { TrafficShift } from "../schema/traffic-shift.ts";
import { applyRollout } from "./apply.ts";
import { promote } from "./promote.ts";
import { weightsAnnotation } from "./routes.ts";
import { shiftTraffic } from "./shift.ts";
import { targets } from "./workloads.ts";

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { selector: { "app.oam.dev/component": "web" }, ports: [{ port: 80 }] },
};
const half = { $params: { partition: "50%" } };
const approval = { $params: { manualApproval: true, rollbackIfNotApproved: true } };
const httpRoute = kindOf("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes");
const at = (name: string) => ({ namespace: "default", name });

/** An application whose versions are rolled out one after the other. */
function shop() {
  const client = clientWith([httpRoute]);
  const clock = new FakeClock();
  const version = (number: number, image = `nginx:${number}`) =>
    fakeScope(fakeApp([component("web", deployment("web", 4, image), service)], number), {
      clients: { local: client },
      clock,
    });
  const rollOut = async (scope: ReturnType<typeof version>, value: JsonObject = half) => {
    for (let pass = 0; pass < 5; pass++) {
      const answer = await applyRollout(value, scope);
      if (answer.kind !== "wait") return answer;
      await becomeReady(client);
    }
    throw new Error("does not settle");
  };
  const finish = async (scope: ReturnType<typeof version>, value: JsonObject = approval) => {
    for (let pass = 0; pass < 5; pass++) {
      const answer = await promote(value, scope);
      if (answer.kind !== "wait") return answer;
      await becomeReady(client);
    }
    throw new Error("does not settle");
  };
  const decide = (status: JsonObject) =>
    client.patch({ type: Rollout, ...at("shop") }, { type: "merge", body: { status } }, { subresource: "status" });
  const status = async () => (await client.get<Rollout>({ type: Rollout, ...at("shop") })).status;
  return { client, clock, version, rollOut, finish, decide, status };
}

test("17.15 14.2 four replicas become 2 and 2, wait for approval, and are 4 of the new revision afterwards", async () => {
  const { client, version, rollOut, finish, decide, status } = shop();
  expect(await rollOut(version(1))).toMatchObject({ kind: "continue" });
  expect(await replicasIn(client)).toEqual({ "web-v1": 4 });
  expect(await finish(version(1))).toMatchObject({ kind: "continue" });

  const second = version(2);
  expect(await rollOut(second)).toMatchObject({ kind: "continue" });
  expect(await replicasIn(client)).toEqual({ "web-v1": 2, "web-v2": 2 });
  expect(await shiftTraffic(half, second)).toMatchObject({ kind: "continue" });
  const shared = await client.get({ type: Service, ...at("web") });
  expect(JSON.parse(shared.metadata.annotations?.[weightsAnnotation] ?? "")).toEqual({
    "app.oam.dev/revision=web-v2": 50,
    "app.oam.dev/revision!=web-v2": 50,
  });
  expect(await promote(approval, second)).toEqual({ kind: "wait", message: "waiting for approval of shop-v2" });
  expect(await status()).toMatchObject({ pause: true, phase: "paused" });
  expect(await promote(approval, second)).toMatchObject({ kind: "wait" });
  await decide({ pause: false });
  expect(await finish(second)).toMatchObject({ kind: "continue" });
  expect(await replicasIn(client)).toEqual({ "web-v2": 4 });
  expect((await client.get({ type: Service, ...at("web") })).metadata.annotations).toEqual({});
  expect(await status()).toMatchObject({ phase: "succeeded", pause: false });
});

test("attack: whoever may edit or delete a Rollout gets nothing past its decision, and nothing else scaled or removed", async () => {
  const edits: readonly ((at: ReturnType<typeof shop>) => Promise<unknown>)[] = [
    ({ client }) => client.delete({ type: Rollout, ...at("shop") }),
    ...[
      { newRevision: "shop-v9" },
      { components: [] },
      {
        components: [
          {
            name: "web",
            apiVersion: "apps/v1",
            kind: "Deployment",
            replicas: 0,
            newWorkload: "x",
            oldWorkload: "theirs",
          },
        ],
      },
    ].map(
      (spec) =>
        ({ client }: ReturnType<typeof shop>) =>
          client.patch({ type: Rollout, ...at("shop") }, { type: "merge", body: { spec } }),
    ),
  ];
  for (const edit of edits) {
    const place = shop();
    await place.rollOut(place.version(1));
    const second = place.version(2);
    await place.rollOut(second);
    expect(await promote(approval, second)).toMatchObject({ kind: "wait" });
    await edit(place);
    expect(await promote(approval, { ...second, referred: { kind: "Rollout" } })).toEqual({
      kind: "fail",
      message: 'Rollout "shop" was changed or deleted by another client',
    });
    expect(await replicasIn(place.client)).toEqual({ "web-v1": 2, "web-v2": 2 });
  }
});

test("17.15 14.2 a rejection brings back the old revision and fails the step", async () => {
  const { client, version, rollOut, finish, decide, status } = shop();
  await rollOut(version(1));
  const second = version(2);
  await rollOut(second);
  await promote(approval, second);
  await decide({ approved: false });
  expect(await finish(second)).toEqual({ kind: "fail", message: "rolled back to shop-v1" });
  expect(await replicasIn(client)).toEqual({ "web-v1": 4 });
  expect(await status()).toMatchObject({ phase: "rolledBack" });
  // The next revision replaces the one that was brought back.
  await rollOut(version(3));
  expect(await replicasIn(client)).toEqual({ "web-v1": 2, "web-v3": 2 });
  // The decision about the second revision does not count for the third.
  expect(await promote(approval, version(3))).toMatchObject({ kind: "wait" });
});

test("17.15 14.2 the time for an approval ends, with rollbackIfNotApproved only", async () => {
  const { client, clock, version, rollOut, finish } = shop();
  await rollOut(version(1));
  const second = version(2);
  await rollOut(second);
  const patient = { $params: { manualApproval: true, approvalTimeout: "1h" } };
  await promote(patient, second);
  await clock.advance(2 * 3_600_000);
  expect(await promote(patient, second)).toMatchObject({ kind: "wait" });
  const strict = { $params: { ...approval.$params, approvalTimeout: "1h" } };
  expect(await finish(second, strict)).toEqual({ kind: "fail", message: "rolled back to shop-v1" });
  expect(await replicasIn(client)).toEqual({ "web-v1": 4 });
});

test("without manual approval a rollout is promoted at once", async () => {
  const { client, version, rollOut, finish } = shop();
  await rollOut(version(1));
  const second = version(2);
  await rollOut(second);
  expect(await finish(second, {})).toMatchObject({ kind: "continue" });
  expect(await replicasIn(client)).toEqual({ "web-v2": 4 });
});

test("a component that did not change keeps its workload, and a rollout that is overtaken leaves nothing", async () => {
  const { client, version, rollOut } = shop();
  await rollOut(version(1, "same"));
  await rollOut(version(2, "same"));
  expect(await replicasIn(client)).toEqual({ "web-v1": 4 });
  await rollOut(version(3, "other"));
  await rollOut(version(4, "third"));
  expect(await replicasIn(client)).toEqual({ "web-v1": 2, "web-v4": 2 });
});

test("a workload that was applied without a rollout is replaced too", async () => {
  const { client, version, rollOut, finish } = shop();
  const labels = { "app.oam.dev/name": "shop", "app.oam.dev/component": "web" };
  const plain = { ...deployment("web", 4), metadata: { name: "web", namespace: "default", labels } };
  await client.create(kindOf("apps/v1", "Deployment", "deployments"), plain as never);
  await rollOut(version(2));
  expect(await replicasIn(client)).toEqual({ web: 2, "web-v2": 2 });
  await finish(version(2), {});
  expect(await replicasIn(client)).toEqual({ "web-v2": 4 });
});

test("an HTTPRoute gets weights for a Service of each revision, and its one backend again at the end", async () => {
  const { client, version, rollOut, finish } = shop();
  await rollOut(version(1));
  const rules = [{ backendRefs: [{ name: "web", port: 80 }] }];
  await client.create(httpRoute, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "web", namespace: "default" },
    spec: { rules },
  });
  const second = version(2);
  await rollOut(second);
  await shiftTraffic({ $params: { partition: "20%" } }, second);
  expect(await client.get({ type: httpRoute, ...at("web") })).toMatchObject({
    spec: {
      rules: [
        {
          backendRefs: [
            { name: "web-stable", port: 80, weight: 80 },
            { name: "web-canary", port: 80, weight: 20 },
          ],
        },
      ],
    },
  });
  expect(await client.get({ type: Service, ...at("web-canary") })).toMatchObject({
    spec: { selector: { "app.oam.dev/component": "web", "app.oam.dev/revision": "web-v2" } },
  });
  expect(await client.get({ type: TrafficShift, ...at("shop") })).toMatchObject({
    status: { newWeight: 20, services: [{ service: "web", mode: "HTTPRoute", route: "web" }] },
  });
  await finish(second, {});
  expect(await client.get({ type: httpRoute, ...at("web") })).toMatchObject({ spec: { rules } });
  expect((await client.list(Service)).items.map(({ metadata }) => metadata.name)).toEqual(["web"]);
});

test("an Ingress of nginx gets a canary beside it, which goes at the end", async () => {
  const { client, version, rollOut, finish } = shop();
  await rollOut(version(1));
  const paths = [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }];
  const spec = { ingressClassName: "nginx", rules: [{ http: { paths } }] };
  await client.create(Ingress, {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "web", namespace: "default" },
    spec,
  });
  const second = version(2);
  await rollOut(second);
  await shiftTraffic(half, second);
  const canary = await client.get({ type: Ingress, ...at("web-canary") });
  expect(canary.metadata.annotations).toMatchObject({ "nginx.ingress.kubernetes.io/canary-weight": "50" });
  expect(JSON.stringify(canary.spec)).toContain('"name":"web-canary"');
  expect(JSON.stringify((await client.get({ type: Ingress, ...at("web") })).spec)).toContain('"name":"web-stable"');
  await finish(second, {});
  expect((await client.list(Ingress)).items.map(({ metadata }) => metadata.name)).toEqual(["web"]);
  expect((await client.get({ type: Ingress, ...at("web") })).spec).toEqual(spec);
});

test("the old revision keeps a Pod until a new one is ready", () => {
  expect(targets(4, 4, 0, 0)).toEqual({ fresh: 4, old: 1 });
  expect(targets(4, 4, 0, 1)).toEqual({ fresh: 4, old: 0 });
  expect(targets(5, 3, 1, 0)).toEqual({ fresh: 3, old: 3 });
});

test("bad input: a partition or a timeout that cannot be read", async () => {
  const { version, rollOut } = shop();
  expect(await applyRollout({ partition: "lots" }, version(1))).toEqual({
    kind: "error",
    message: 'partition: expected "50%" or a number, found "lots"',
  });
  await rollOut(version(1));
  expect(await promote({ approvalTimeout: "1 hour" }, version(1))).toMatchObject({ kind: "error" });
  expect(isJsonObject(await shiftTraffic({}, version(1)))).toBe(true);
});
