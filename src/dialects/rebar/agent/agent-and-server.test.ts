import { expect, onTestFinished, test } from "vitest";
import { isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import { ApiFixture } from "../api/testing/api-fixture.ts";
import { startAgent, temporaryDirectory } from "./testing/agents.ts";

const script = (Name: string, lines: string) => ({
  Name,
  Templates: [{ Name: "run", Contents: `#!/bin/bash\n${lines}\n` }],
});

async function scene(tasks: Readonly<Record<string, string>>, entries: readonly string[]) {
  const fixture = await ApiFixture.open();
  onTestFinished(() => fixture.close());
  for (const [name, lines] of Object.entries(tasks)) {
    const made = await fixture.ask("POST", "/tasks", { body: script(name, lines) });
    expect(made.code, made.text).toBe(201);
  }
  await fixture.ask("POST", "/stages", { body: { Name: "only", Tasks: [...entries] } });
  await fixture.ask("POST", "/workflows", { body: { Name: "run", Stages: ["only"] } });
  const { uuid, auth } = await fixture.machine({ Name: "m1.example", Workflow: "run" });
  const endpoint = `https://127.0.0.1:${fixture.api.https.port}`;
  const credentials = { token: auth.replace("Bearer ", "") };
  const connection = { endpoints: [endpoint], credentials, trust: { kind: "any" } } as const;
  const directory = await temporaryDirectory();
  const agent = (settings: Parameters<typeof startAgent>[3]) =>
    startAgent({ machine: uuid }, endpoint, `${directory}/${settings?.context ?? ""}`, { connection, ...settings });
  const machine = async () => (await fixture.ask("GET", `/machines/${uuid}`)).json as JsonObject;
  const jobs = async () => {
    const { json } = await fixture.ask("GET", "/jobs?sort=StartTime");
    return Array.isArray(json) ? json.filter(isJsonObject).filter((job) => !/:/.test(textAt(job, "Task") ?? "")) : [];
  };
  const log = async (job: JsonObject) => (await fixture.ask("GET", `/jobs/${textAt(job, "Uuid")}/log`)).text;
  return { agent, machine, jobs, log, fixture, uuid };
}

test("15.12 a context: entry hands over from one agent to another and back, and each job has its log", async () => {
  const tasks = { ta: "echo from a in [$RS_CONTEXT]", tb: "echo from b in [$RS_CONTEXT]", tc: "echo c" };
  const { agent, machine, jobs, log } = await scene(tasks, ["ta", "context:x", "tb", "context:", "tc"]);
  const agents = ["", "x"].map((context) => agent({ context, isOneShot: false }));
  await expect.poll(async () => (await machine())["WorkflowComplete"]).toBe(true);
  for (const each of agents) each.stop();
  for (const each of agents) expect(await each.ended).toBeUndefined();
  const run = await jobs();
  expect(run.map((job) => [job["Task"], job["Context"], job["State"]])).toEqual([
    ["ta", "", "finished"],
    ["tb", "x", "finished"],
    ["tc", "", "finished"],
  ]);
  expect(await log(run[0] ?? {})).toContain("from a in []\n");
  expect(await log(run[1] ?? {})).toContain("from b in [x]\n");
});

test("15.21 a script's token may read its machine and no other", async () => {
  const asks = (path: string) =>
    `curl -sk -o /dev/null -w '%{http_code}\\n' -H "Authorization: Bearer $RS_TOKEN" "$RS_ENDPOINT/api/v3/machines/${path}"`;
  const { agent, jobs, log, fixture } = await scene({ ta: `${asks("$RS_UUID")}\n${asks("Name:other")}` }, ["ta"]);
  await fixture.ask("POST", "/machines", { body: { Name: "other" } });
  await agent({}).ended;
  const [job = {}] = await jobs();
  expect(await log(job)).toContain("\n200\n404\n");
});

test("15.18 a failed script leaves the machine not runnable; made runnable, the same task runs in a new job", async () => {
  const { agent, jobs, machine, fixture, uuid } = await scene(
    { ta: "[[ -e ../again ]] || { touch ../again; exit 1; }" },
    ["ta"],
  );
  await agent({}).ended;
  expect((await machine())["Runnable"]).toBe(false);
  await fixture.ask("PATCH", `/machines/${uuid}`, { body: [{ op: "replace", path: "/Runnable", value: true }] });
  await agent({}).ended;
  expect((await jobs()).map((job) => job["State"])).toEqual(["failed", "finished"]);
  expect((await machine())["WorkflowComplete"]).toBe(true);
});

test("15.25 requests that name the host of the original agent's socket are answered", async () => {
  const fixture = await ApiFixture.open();
  onTestFinished(() => fixture.close());
  expect((await fixture.ask("GET", "/info", { headers: { host: "unix" } })).code).toBe(200);
  expect((await fixture.ask("GET", "/info", { headers: { host: "evil.example" } })).code).toBe(421);
});
