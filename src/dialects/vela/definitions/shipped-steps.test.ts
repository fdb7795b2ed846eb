import { afterAll, beforeAll, expect, test } from "vitest";
import { defined, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type Cue, type CueTask, createCue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { velaPackages } from "../packages.ts";
import type { Definition } from "./definition.ts";
import { shippedDefinitions } from "./shipped.ts";

let host: TemplateHost;
let cue: Cue;
let definitions: readonly Definition[];

beforeAll(async () => {
  host = await realHost();
  cue = createCue({ templates: host, packages: velaPackages, budgetMs: 20_000 });
  definitions = await shippedDefinitions();
});

afterAll(() => host.close());

const context = { name: "shop", namespace: "ns", stepName: "s", stepSessionID: "abc" };

const found = (type: string, name: string) => definitions.find((each) => each.type === type && each.name === name);

const returns = (value: JsonValue): JsonObject => ({ $returns: value });

const read = (value: JsonValue) => returns({ value });

const response = (statusCode: number, body: string) => ({ req: returns({ statusCode, body }) });

/** Runs a step with prepared results by path. Returns the paths of its actions, up to one that ends or holds the step. */
async function run(name: string, parameter: JsonObject, results: JsonObject) {
  let task: CueTask = { text: found("workflow-step", name)?.template ?? "", parameter, context, done: [] };
  const paths: string[] = [];
  for (;;) {
    const state = await cue.next(task);
    if (!state.ok) throw new Error(state.error.message);
    const { action } = state.value;
    if (action === undefined) return { paths, task };
    paths.push(action.path);
    const { continue: isOpen } = ((action.value as JsonObject)["$params"] ?? action.value) as JsonObject;
    if (action.do === "fail" || (action.do === "wait" && isOpen !== true)) return { paths, task };
    const result = results[action.path];
    task = { ...task, done: [...task.done, { path: action.path, ...defined({ result }) }] };
  }
}

const outputOf = async (task: CueTask, path: string) => {
  const looked = await cue.lookup(task, [path]);
  return looked.ok ? looked.value[0]?.value : looked.error.message;
};

test("17.15 request and webhook publish the response as output, parsed if it is JSON", async () => {
  const asked = await run("request", { url: "http://x" }, response(200, '{"a":1}'));
  expect(asked.paths).toEqual(["req"]);
  const output = { responseCode: 200, statusCode: 200, body: '{"a":1}', response: { a: 1 } };
  expect(await outputOf(asked.task, "output")).toEqual(output);
  const told = await run("webhook", { url: { value: "http://x" }, data: { b: 2 } }, response(500, "no JSON"));
  expect(told.paths).toEqual(["req"]);
  expect(await outputOf(told.task, "output")).toEqual({ responseCode: 500, statusCode: 500, body: "no JSON" });
});

test.each([
  [399, ["req"]],
  [400, ["req", "fail"]],
  [503, ["req", "fail"]],
])("a request that is answered %i runs %j", async (status, paths) => {
  expect((await run("request", { url: "http://x" }, response(status, ""))).paths).toEqual(paths);
});

test("a webhook reads its URL from a Secret, and the Application if it has no data", async () => {
  const secret = { secretRef: { name: "hook", key: "url" } };
  const results = {
    "body.read": read({ kind: "Application" }),
    "url.read": read({ data: { url: "aHR0cDovL3g=" } }),
    "url.text": returns({ str: "http://x" }),
  };
  const { paths, task } = await run("webhook", { url: secret }, { ...results, ...response(200, "") });
  expect(paths).toEqual(["body.read", "url.read", "url.text", "req"]);
  expect(await outputOf(task, "req.$params.url")).toBe("http://x");
  expect(await outputOf(task, "req.$params.request.body")).toBe('{"kind":"Application"}');
});

test("a notification is sent to each place that its parameter names", async () => {
  const { paths } = await run(
    "notification",
    {
      slack: { url: { value: "http://s" }, message: { text: "hi" } },
      email: {
        from: { address: "a@b", password: { secretRef: { name: "mail", key: "p" } }, host: "h" },
        to: ["c@d"],
        content: { subject: "s", body: "b" },
      },
    },
    { "mail.password.secret.read": read({ data: { p: "cA==" } }), "mail.password.secret.text": returns({ str: "p" }) },
  );
  expect(paths).toEqual(["slack.send", "mail.password.secret.read", "mail.password.secret.text", "mail.send"]);
});

test.each([
  ["running", ["read", "wait"]],
  ["runningWorkflow", ["read", "wait"]],
  ["workflowFailed", ["read", "fail"]],
  ["workflowTerminated", ["read", "fail"]],
])("depends-on-app with an application in phase %s runs %j", async (status, paths) => {
  const results = { read: read({ status: { status } }) };
  expect((await run("depends-on-app", { name: "a", namespace: "n" }, results)).paths).toEqual(paths);
});

test("components are applied one after another, except for those excluded", async () => {
  const value = ["a", "b-c"].map((name) => ({ name, type: "worker" }));
  const all = await run("apply-application", {}, { "output.load": { value } });
  expect(all.paths).toEqual(["output.load", "output.components.a", 'output.components."b-c"']);
  const rest = await run("apply-remaining", { exceptions: ["a"] }, { "apply.load": { value } });
  expect(rest.paths).toEqual(["apply.load", 'apply.components."b-c"']);
});

test("an environment of an env-binding policy is a deployment with policies of its own", async () => {
  const properties = { envs: [{ name: "prod", placement: { clusterSelector: { name: "east" } } }] };
  const results = { "app.load": { value: { p: { name: "p", type: "env-binding", properties } } } };
  const known = await run("deploy2env", { env: "prod" }, results);
  expect(known.paths).toEqual(["app.load", "app.deploys.prod"]);
  expect(await outputOf(known.task, "app.deploys.prod.inlinePolicies[0].properties")).toEqual({ clusters: ["east"] });
  expect((await run("deploy2env", { env: "test" }, results)).paths).toEqual(["app.load", "app.missing.fail"]);
});

const deployment = (status: JsonObject, annotations: JsonObject = {}) => ({
  output: { kind: "Deployment", metadata: { generation: 2, annotations }, spec: { replicas: 2 }, status },
});
const settled = { replicas: 2, readyReplicas: 2, updatedReplicas: 2, observedGeneration: 2 };
const loadBalancer = (status: JsonObject) => ({ outputs: { service: { spec: { type: "LoadBalancer" }, status } } });

test.each<[string, string, JsonObject, boolean, string]>([
  ["component", "webservice", deployment(settled), true, "Ready:2/2"],
  ["component", "webservice", deployment({ ...settled, readyReplicas: 1 }), false, "Ready:1/2"],
  ["component", "webservice", deployment({ ...settled, observedGeneration: 1 }), false, "Ready:2/2"],
  ["component", "webservice", deployment({}), false, "Ready:0/2"],
  ["component", "webservice", deployment({}, { "app.oam.dev/disable-health-check": "true" }), true, "Ready:0/2"],
  ["component", "worker", deployment({ ...settled, replicas: 3 }), false, "Ready:2/2"],
  ["component", "statefulset", deployment(settled), true, "Ready:2/2"],
  ["component", "task", { output: { spec: { parallelism: 1 } } }, false, "Active/Failed/Succeeded:0/0/0"],
  ["trait", "expose", loadBalancer({}), false, "ExternalIP: Pending"],
  ["trait", "expose", loadBalancer({ loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } }), true, "ExternalIP: 1.2.3.4"],
])("the health of %s %s over %j is %s", async (type, name, live, isHealthy, message) => {
  const status = found(type, name)?.spec["status"] as { healthPolicy: string; customStatus: string };
  const health = await cue.health({ ...status, parameter: {}, context: { ...context, ...live } });
  expect(health).toMatchObject({ ok: true, value: { isHealthy, message } });
});
