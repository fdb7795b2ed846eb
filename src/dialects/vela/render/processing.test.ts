import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { createCue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { application, component, testDelivery } from "../testing/fixtures.ts";
import { keptAnswers } from "./processing.ts";

let host: TemplateHost;
let server: Server;
let url: string;
const asked: string[] = [];

beforeAll(async () => {
  host = await realHost();
  server = createServer((request, response) => {
    asked.push(`${request.method ?? ""} ${request.url ?? ""} ${[request.headers["x-for"] ?? []].flat().join()}`);
    response.end(request.url === "/text" ? "no JSON" : '{"token": "t-1", "port": 81}');
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 60_000);

afterAll(async () => {
  server.close();
  await host.close();
});

const templates: Readonly<Record<string, string>> = {
  object: `output: {apiVersion: "v1", kind: "ConfigMap", metadata: name: context.name}
parameter: {}
`,
  ask: `parameter: {url: string, method: *"GET" | string}
processing: {
	output: {token?: string, port?: int}
	http: {
		method:  parameter.method
		url:     parameter.url
		request: header: "x-for": context.appName
	}
}
patch: data: {token: processing.output.token, port: "\\(processing.output.port)"}
`,
};

/** A ConfigMap with a trait that asks the path. */
function rendering(path: string, denied: readonly string[] = []) {
  const traits = [{ type: "ask", properties: { url: `${url}${path}` } }];
  const one = component("map", "object", { traits });
  const { next } = testDelivery(application({ components: [one] }), {
    cue: createCue({ templates: host, packages: {}, budgetMs: 20_000 }),
    definitions: {
      names: async () => Object.keys(templates),
      find: async (type, name) => ({ type, name, template: templates[name] ?? "", spec: {}, annotations: {} }),
    },
    answers: keptAnswers(denied, systemClock),
  });
  return () => next().render(one);
}

test("a trait with processing sends its request once for a revision, and reads the answer", {
  timeout: 60_000,
}, async () => {
  const render = rendering("/token");
  for (let pass = 0; pass < 2; pass++)
    expect(await render()).toMatchObject({
      ok: true,
      value: { workload: { object: { data: { token: "t-1", port: "81" } } } },
    });
  expect(asked).toEqual(["GET /token shop"]);
});

test("attack: processing does not reach denied networks, and an answer that is no JSON is an error", async () => {
  asked.length = 0;
  expect(await rendering("/token", ["127.0.0.0/8"])()).toMatchObject({ ok: false });
  expect(asked).toEqual([]);
  expect(await rendering("/text")()).toEqual({
    ok: false,
    error: 'component "map": trait "ask": processing.http: the answer is not JSON',
  });
});
