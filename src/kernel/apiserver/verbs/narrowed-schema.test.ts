import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, widget, widgetDefinition } from "../testing/index.ts";

// What is stored was pruned by the schema of its day. Writes trust that only while the schema is the same.

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
  await api.ask("POST", definitions, { body: widgetDefinition });
});
afterAll(() => api.close());

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/demo.example.org/v1/namespaces/default/widgets";
const old = `${widgets}/old`;

const spec = { size: 1, color: "red", free: { any: ["thing"] } };
const sent = async (changes: object): Promise<object> => ({ ...(await api.ask("GET", old)).json, ...changes });

/** Takes `spec.free` out of the schema of every version. */
async function narrow(): Promise<void> {
  const definition = JSON.stringify((await api.ask("GET", `${definitions}/widgets.demo.example.org`)).json);
  const body = definition.replaceAll(
    '"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}',
    '"other":{"type":"string"}',
  );
  expect(body).not.toBe(definition);
  const answer = await api.ask("PUT", `${definitions}/widgets.demo.example.org`, { body: JSON.parse(body) as object });
  expect(answer.status, answer.text).toBe(200);
}

test("a field that left the schema stays stored until its part is written, and goes then", async () => {
  expect((await api.ask("POST", widgets, { body: widget("old", { spec }) })).status).toBe(201);
  const grown = await api.ask("PUT", `${old}?fieldValidation=Strict`, {
    body: await sent({ spec: { ...spec, size: 2 } }),
  });
  expect(grown.json).toMatchObject({ spec: { size: 2, free: spec.free } });
  await narrow();

  const status = await api.ask("PUT", `${old}/status`, { body: await sent({ status: { phase: "Ready" } }) });
  expect(status.json).toMatchObject({ spec: { free: spec.free }, status: { phase: "Ready" } });

  // The very content that is stored, so that all of it is shared with the stored object.
  const again = await sent({ status: { phase: "Ready" } });
  const strict = await api.ask("PUT", `${old}?fieldValidation=Strict`, { body: again });
  expect([strict.status, strict.text]).toEqual([400, expect.stringContaining('unknown field \\"spec.free\\"')]);
  const pruned = await api.ask("PUT", old, { body: again });
  expect(pruned.json["spec"]).toEqual({ size: 2, color: "red" });
});
