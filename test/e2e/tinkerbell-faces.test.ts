import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, connectApi } from "#test/support/api.ts";
import {
  endRunner,
  type Finished,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// The commands of every language on workflows of Tinkerbell, of which no agent carries out any.

const patience = { timeout: 60_000 };
let server: TestServer;
let home: string;
let api: Api;
beforeAll(async () => {
  home = await temporaryDirectory();
  server = await startServer(await temporaryDirectory(), ["--tink-listen", "off"]);
  api = await connectApi(server.url, server.kubeconfig);
});
afterAll(async () => {
  api.close();
  expect(await server.stop()).toBe(0);
  await endRunner(server.directory);
  await Promise.all([removeDirectory(server.directory), removeDirectory(home)]);
});

const on = (...words: readonly string[]): Promise<Finished> =>
  slipway([...words, "--kubeconfig", server.kubeconfig], { env: { HOME: home } });
async function must(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await on(...words);
  expect(code, err).toBe(0);
  return out;
}

const group = "/apis/tinkerbell.org/v1alpha1/namespaces/default";
const actions = ["one", "two"].map((name) => ({ name, image: "busybox" }));
const data = JSON.stringify({ name: "t", tasks: [{ name: "install", worker: "node-7", actions }] });

async function create(plural: string, kind: string, name: string, spec: object): Promise<void> {
  const body = { apiVersion: "tinkerbell.org/v1alpha1", kind, metadata: { name }, spec };
  const answer = await api.ask("POST", `${group}/${plural}`, body);
  expect(answer.status, answer.text).toBe(201);
}

/** A workflow that waits for the agent of all of them. */
async function waiting(name: string): Promise<void> {
  await create("workflows", "Workflow", name, { templateRef: "t" });
  await expect.poll(() => must("describe", name), patience).toContain("for agent node-7");
}

test("runs are found by name, described with their place in the queue, canceled and retried", async () => {
  await create("templates", "Template", "t", { data });
  await waiting("first");
  await waiting("second");
  const text = await must("describe", "wf/second");
  expect(text).toMatch(/^Queue: +2nd for agent node-7, behind wf\/first$/m);
  expect(text).toMatch(/^Seen: +agent node-7 is not connected$/m);
  expect(text).toMatch(/Normal +Prepared/);
  expect(await must("why", "second")).toMatch(/one: Waiting, waits for its agent/);
  expect(await must("graph", "second")).toMatch(/one[\s\S]*two/);
  expect(await must("cancel", "wf", "second")).toBe("workflow/second canceled\n");
  const stored = (await api.ask("GET", `${group}/workflows/second`)).json as { readonly status?: object };
  expect(stored.status).toMatchObject({ state: "CANCELED", failureMessage: "canceled by CLI" });
  expect(await must("retry", "workflow/second", "--from-failed")).toBe("workflow/second retried as second-retry-1\n");
  expect(await must("get", "twf")).toContain("second-retry-1");
});

test("what the language has no word for is refused by name", async () => {
  await waiting("third");
  expect(await on("suspend", "wf/third")).toMatchObject({
    code: 2,
    err: expect.stringContaining("expected cancel or retry: runs of tinkerbell do not support suspend"),
  });
  expect(await on("retry", "third")).toMatchObject({
    code: 1,
    err: "slipway: workflow/third: the workflow is Pending; only a finished one can be retried\n",
  });
});

test("a name that two languages have, and a word that means two kinds, are told of", async () => {
  await waiting("both");
  const body = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "both" },
    spec: { suspend: true, steps: { a: { container: { image: "busybox", command: ["true"] } } } },
  };
  await api.ask("POST", "/apis/slipway.dev/v1alpha1/namespaces/default/workflows", body);
  expect(await on("describe", "wf/both")).toMatchObject({
    code: 2,
    err: expect.stringContaining("write workflow.slipway.dev/both or workflow.tinkerbell.org/both"),
  });
  expect(await must("describe", "workflow.tinkerbell.org/both")).toContain("for agent node-7");
  const listed = await on("get", "wf");
  expect(listed.out).toMatch(/^NAME[^\n]*\nboth /);
  expect(listed.err).toContain("for the others: slipway get workflows.tinkerbell.org");
});

test("documents are linted, and compared with what is there", async () => {
  const file = join(home, "documents.yaml");
  const workflow = "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata: {name: first}\nspec: ";
  await writeFile(file, `${workflow}{templateRef: {name: t}}\n`);
  expect(await on("lint", file)).toMatchObject({ code: 2, out: expect.stringContaining("spec.templateRef: ") });
  await writeFile(file, `${workflow}{templateRef: other}\n`);
  expect((await on("lint", file)).code).toBe(0);
  expect((await on("diff", file)).out).toContain("spec.templateRef");
  const bare = join(home, "bare.yaml");
  await writeFile(bare, "name: bare\ntasks:\n- {name: t, worker: {{.device}}, actions: []}\n");
  expect((await on("lint", bare)).code).toBe(0);
});
