import { expect, test } from "vitest";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import { refTo } from "#kernel/kit/index.ts";
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

test("an overlay leaves the live object alone and counts for its generation only", async () => {
  const { client, clock, scope, live } = await shop({ "slipway.dev/pre-render": "overlay" });
  const before = await live();
  expect(await writeBackProvider({ $params: { objects: [rendered("o")] } }, scope)).toMatchObject({ kind: "continue" });
  expect(await live()).toEqual(before);
  expect(await readOverlay(before, { client, clock })).toMatchObject({ components: [{ properties: { image: "o" } }] });
  const later = { ...before, metadata: { ...before.metadata, generation: 99 } };
  expect(await readOverlay(later, { client, clock })).toBeUndefined();
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
