import { afterAll, expect, test } from "vitest";
import { realHost } from "./testing/index.ts";

const host = await realHost();
afterAll(() => host.close());

const chart = {
  "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
  "templates/_names.tpl": '{{ define "web.image" }}{{ required "image is required" .Values.image }}{{ end }}',
  "templates/app.yaml": `apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: {{ .Release.Name }}}
spec: {components: [{name: web, type: webservice, properties: {image: {{ include "web.image" . }}, replicas: {{ .Values.replicas }}}}]}
`,
};
const release = { name: "shop", namespace: "default" };

test("17.15 14.5 a chart renders an application with its values", async () => {
  const rendered = await host.renderChart({ files: chart, release, values: { image: "my-image", replicas: 3 } });
  expect(rendered).toMatchObject({
    ok: true,
    value: {
      chart: "web-1.0.0",
      objects: [{ spec: { components: [{ properties: { image: "my-image", replicas: 3 } }] } }],
    },
  });
});

test("a chart's own refusal names the template and the line", async () => {
  const refused = await host.renderChart({ files: chart, release, values: {} });
  expect(refused).toMatchObject({
    ok: false,
    error: { kind: "template", problems: [{ code: "helm", path: "web/templates/app.yaml", line: 4 }] },
  });
});
