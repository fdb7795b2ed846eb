import { expect, test } from "vitest";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import { refTo } from "#kernel/kit/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { clientWith, fakeApp, fakeScope, kindOf } from "../ops/testing/fake-scope.ts";
import { firstDifference, wantedSpec } from "./compare.ts";
import { writeBackProvider } from "./provider.ts";
import { readOverlay } from "./write-back.ts";

const type = kindOf("core.oam.dev/v1beta1", "Application", "applications");
const preRender = { name: "template", type: "helm-template", stage: "pre-render", properties: { path: "x" } };
const rendered = (image: string): JsonObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name: "template" },
  spec: {
    components: [{ name: "web", type: "webservice", properties: { image, replicas: 3 } }],
    policies: [{ type: "security" }],
  },
});

async function shop(annotations: Readonly<Record<string, string>> = {}) {
  const client = clientWith([type]);
  const clock = new FakeClock();
  const application = {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "Application",
    metadata: { name: "shop", namespace: "default", annotations },
    spec: { components: [], workflow: { steps: [preRender, { type: "deploy" }] } },
  };
  await client.create(type, application);
  const base = fakeScope(fakeApp([]), { clients: { local: client }, clock });
  const scope = { ...base, step: { ...base.step, stage: "pre-render" as const } };
  const live = () => client.get(refTo(type, application));
  return { client, clock, scope, live };
}

test("17.15 14.5 the rendered components appear in the live object by one write, and the generation settles", async () => {
  const { scope, live } = await shop();
  expect(await writeBackProvider({ $params: { objects: [rendered("my-image")] } }, scope)).toMatchObject({
    kind: "wait",
  });
  const { metadata, spec } = await live();
  expect(spec).toEqual({
    components: [{ name: "web", type: "webservice", properties: { image: "my-image", replicas: 3 } }],
    policies: [{ name: "security-auto-gen-0", type: "security" }],
    workflow: { steps: [preRender, { name: "step-1", type: "deploy" }] },
  });
  for (let pass = 0; pass < 3; pass++)
    expect(await writeBackProvider({ $params: { objects: [rendered("my-image")] } }, scope)).toMatchObject({
      kind: "continue",
      result: { $returns: { changed: false } },
    });
  expect((await live()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(scope.said).toContain("no change");
});

test("17.15 14.5 a patch is merged into the rendered application by names", async () => {
  const { scope, live } = await shop();
  const patch = { spec: { components: [{ name: "web", properties: { image: "prod-image" } }] } };
  await writeBackProvider({ $params: { objects: [rendered("base")], patch } }, scope);
  expect((await live()).spec).toMatchObject({ components: [{ properties: { image: "prod-image", replicas: 3 } }] });
});

test("17.15 14.5 a tool that reverts the write-back ends in a failure that names the field", async () => {
  const { client, clock, scope, live } = await shop();
  const write = () => writeBackProvider({ $params: { objects: [rendered("a")] } }, scope);
  for (let round = 0; round < 5; round++) {
    expect(await write()).toMatchObject({ kind: "wait" });
    const { spec: _spec, ...rest } = await live();
    await client.update(type, { ...rest, spec: { components: [], workflow: { steps: [preRender] } } });
    await clock.advance(1000);
  }
  expect(await write()).toEqual({
    kind: "fail",
    message: expect.stringMatching(
      /^pre-render does not settle: spec\.components flips between \[\] and \[\{"name":"web"/,
    ),
  });
  await clock.advance(600_000);
  expect(await write()).toMatchObject({ kind: "wait" });
});

/** An application whose steps keep what they compute in a ConfigMap, and the digests in its status. */
async function overlaid() {
  const made = await shop({ "slipway.dev/pre-render": "overlay" });
  const { client, live } = made;
  const digests: string[] = [];
  const scope = { ...made.scope, noteOverlay: (digest: string) => void digests.push(digest) };
  const compute = (image: string) => writeBackProvider({ $params: { objects: [rendered(image)] } }, scope);
  /** What the pass does when the step has ended. */
  const store = async () => {
    const body = { status: { preRendered: digests.at(-1) ?? null } };
    await client.patch(refTo(type, await live()), { type: "merge", body }, { subresource: "status" });
  };
  const edit = (data: JsonObject) =>
    client.patch(
      { type: ConfigMap, namespace: "default", name: "shop-prerendered" },
      { type: "merge", body: { data } },
    );
  const read = async () => readOverlay(await live(), { client });
  return { ...made, compute, store, edit, read };
}

const image = (name: string) => ({ ok: true, value: { components: [{ properties: { image: name } }] } });

test("an overlay leaves the live object alone and counts for its generation only", async () => {
  const { client, compute, store, read, live } = await overlaid();
  const before = await live();
  expect(await compute("o")).toMatchObject({ kind: "continue" });
  expect(await live()).toEqual(before);
  await store();
  expect(await read()).toMatchObject(image("o"));
  const now = await live();
  const later = { ...now, metadata: { ...now.metadata, generation: 99 } };
  expect(await readOverlay(later, { client })).toMatchObject({ ok: false });
});

test("attack: an overlay that another client edits is not rendered", async () => {
  const { compute, store, edit, read, live } = await overlaid();
  await compute("o");
  await store();
  const forged = JSON.stringify({ components: [{ name: "web", properties: { image: "evil" } }] });
  await edit({ spec: forged });
  const refusal = {
    ok: false,
    error: "ConfigMap default/shop-prerendered was deleted or changed by another client; restart the workflow",
  };
  expect(await read()).toEqual(refusal);
  await edit({ spec: forged, previous: forged, generation: String((await live()).metadata.generation) });
  expect(await read()).toEqual(refusal);
  expect(await compute("p")).toEqual({ kind: "fail", message: refusal.error });
});

test("attack: an overlay that no step has computed is not rendered", async () => {
  const { client, live, read } = await overlaid();
  const { generation } = (await live()).metadata;
  const data = { spec: JSON.stringify({ components: [] }), generation: String(generation) };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop-prerendered", namespace: "default" } };
  await client.create(ConfigMap, { ...map, data } as KubeObject);
  expect(await read()).toEqual({ ok: true, value: undefined });
});

test("after a crash between overlay and status the earlier overlay counts, until the step is executed again", async () => {
  const { compute, store, read } = await overlaid();
  await compute("first");
  await store();
  await compute("second");
  expect(await read()).toMatchObject(image("first"));
  await compute("second");
  await store();
  expect(await read()).toMatchObject(image("second"));
});

test("bad input: templates without an application, or with several", async () => {
  const { scope } = await shop();
  const write = (...objects: readonly JsonObject[]) => writeBackProvider({ $params: { objects: [...objects] } }, scope);
  const message = (text: string) => ({ kind: "error", message: text });
  const none = "the template renders no Application of core.oam.dev/v1beta1; found Pod";
  expect(await write({ apiVersion: "v1", kind: "Pod" })).toEqual(message(none));
  expect(await write(rendered("a"), rendered("b"))).toEqual(
    message("the template renders 2 Applications, and none is named shop"),
  );
  const { stage: _stage, ...step } = scope.step;
  expect(await writeBackProvider({}, { ...scope, step: { ...step, stage: "post-render" } })).toMatchObject({
    kind: "error",
  });
});

test("steps before rendering are never touched, and what the template does not have stays", () => {
  const live = {
    components: [{ name: "a" }],
    workflow: { mode: { steps: "DAG" }, steps: [preRender, { name: "x", type: "y" }] },
  };
  expect(wantedSpec(live, { workflow: { steps: [{ type: "z" }, { ...preRender, name: "foreign" }] } })).toEqual({
    components: [{ name: "a" }],
    workflow: { mode: { steps: "DAG" }, steps: [preRender, { name: "step-1", type: "z" }] },
  });
  expect(firstDifference(live, { ...live, components: [{ name: "b" }] })).toEqual({
    path: "spec.components[0].name",
    live: '"a"',
    wanted: '"b"',
  });
});
