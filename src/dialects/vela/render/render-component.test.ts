import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type JsonObject, ok } from "#lib/base/index.ts";
import {
  application,
  component,
  definitionSpecs,
  templates,
  testDefinitions,
  testDelivery,
} from "../testing/fixtures.ts";
import { fakeCue } from "../testing/fake-cue.ts";
import type { UseCaseParts } from "../sources/parts.ts";
import { chartRenderer } from "./charts.ts";

const definitions = testDefinitions({
  ...definitionSpecs,
  "component/helmchart": {},
  "trait/conflict": {},
  "trait/named": {},
});
const cue = fakeCue({
  ...templates,
  helmchart: () => ({}),
  conflict: ({ base }) => ({ errs: base === undefined ? [] : ["spec.replicas: conflicting values 2 and 3"] }),
  named: ({ parameter = {} }) => ({
    outputs: {
      service: { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: parameter },
    },
  }),
});
const trait = (type: string) => ({ type, properties: {} });

test("17.16 a patch that conflicts with the workload is reported as an invalid patch of its trait", async () => {
  const web = component("web", "webservice", { properties: { image: "nginx" }, traits: [trait("conflict")] });
  const { delivery } = testDelivery(application({ components: [web] }), { cue, definitions });
  expect(await delivery.render(web)).toEqual({
    ok: false,
    error: 'component "web": invalid patch trait conflict into workload: spec.replicas: conflicting values 2 and 3',
  });
});

test("bad input: two traits that render one object are refused with both and the object", async () => {
  const web = component("web", "webservice", {
    properties: { image: "nginx" },
    traits: [
      { type: "named", properties: { type: "ClusterIP" } },
      { type: "named", properties: { type: "NodePort" } },
    ],
  });
  const { delivery } = testDelivery(application({ components: [web] }), { cue, definitions });
  expect(await delivery.render(web)).toEqual({
    ok: false,
    error: 'component "web": trait "named" and trait "named" both render Service default/web',
  });
});

test("a chart is a component: its workload first, and traits act on it", async () => {
  const asked: JsonObject[] = [];
  const objects = [
    { apiVersion: "v1", kind: "Service", metadata: { name: "shop" } },
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "shop" }, spec: { replicas: 1 } },
  ];
  const chart = component("shop", "helmchart", {
    properties: { chart: { source: "https://example.org/shop.tgz" }, values: { a: 1 } },
    traits: [{ type: "scaler", properties: { replicas: 3 } }],
  });
  const { delivery } = testDelivery(application({ components: [chart] }), {
    cue,
    definitions,
    charts: async (_scope, properties) => {
      asked.push(properties);
      return ok(objects);
    },
  });
  expect(await delivery.render(chart)).toMatchObject({
    ok: true,
    value: {
      workload: { object: { kind: "Deployment", spec: { replicas: 3 }, metadata: { name: "shop" } } },
      auxiliaries: [{ key: "shop.AuxiliaryWorkload.objects-1", object: { kind: "Service" } }],
    },
  });
  expect(asked).toEqual([chart.properties]);
});

test("the source of a chart is read once for a revision, and a failure is asked again", async () => {
  const root = await mkdtemp(join(tmpdir(), "slipway-chart-"));
  try {
    await writeFile(join(root, "Chart.yaml"), "name: shop\nversion: 1.0.0\n");
    const asked: unknown[] = [];
    const renderChart: UseCaseParts["templates"]["renderChart"] = async ({ files, release }) => {
      asked.push([Object.keys(files), release.namespace]);
      return ok({ objects: [{ apiVersion: "v1", kind: "Service" }], chart: "shop 1.0.0" });
    };
    const directory = join(root, "cache");
    const charts = chartRenderer({ templates: { renderChart }, directory, environment: {}, localRoots: [root] });
    const { delivery } = testDelivery(application({ components: [] }));
    const { app, client, clock, signal } = delivery.parts;
    const place = await delivery.contextOf();
    const render = (chart: JsonObject) => charts({ app, client, clock, signal }, { chart }, place);
    for (let pass = 0; pass < 2; pass++) expect(await render({ source: root })).toMatchObject({ ok: true });
    expect(asked).toEqual([[["Chart.yaml"], "default"]]);
    expect(await render({ repoURL: "https://charts.example.org" })).toMatchObject({
      ok: false,
      error: expect.stringContaining("chart.repoURL") as string,
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
