import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "#test/support/free-port.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import { type RebarServer, startRebar } from "#test/support/rebar.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";

// Digital Rebar's clients and agents against the server as people start it. Names begin with the number of the
// acceptance line.

let directory = "";
let address = "";
let server: RebarServer;
let kubectl: Kubectl;

beforeAll(async () => {
  directory = await temporaryDirectory();
  address = `127.0.0.1:${await freePort()}`;
  server = await startRebar(join(directory, "data"), address);
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
});

afterAll(async () => {
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
});

interface Machine {
  readonly Name: string;
  readonly Uuid: string;
  readonly Stage: string;
  readonly Tasks: readonly string[];
  readonly CurrentTask: number;
  readonly CurrentJob: string;
  readonly Runnable: boolean;
  readonly WorkflowComplete: boolean;
}

interface Job {
  readonly Task: string;
  readonly State: string;
  readonly ExitState: string;
  readonly Current: boolean;
}

const script = (text: string) => [{ Name: "s", Contents: `#!/usr/bin/env bash\n${text}\n` }];

async function load(name: string, sections: object): Promise<void> {
  const bundle = { meta: { Name: `content-${name}`, Version: "v1.0.0" }, sections };
  const loaded = await server.drpcli(["contents", "create", "-"], JSON.stringify(bundle));
  expect(loaded.code, loaded.err).toBe(0);
}

/** A workflow of one stage with these scripts, and a machine in it. */
async function machineWith(name: string, scripts: readonly string[]): Promise<string> {
  const tasks = Object.fromEntries(scripts.map((text, at) => [`${name}-${at}`, { Templates: script(text) }]));
  await load(name, {
    tasks,
    stages: { [name]: { Tasks: Object.keys(tasks) } },
    workflows: { [name]: { Stages: [name] } },
  });
  return ((await server.must("machines", "create", JSON.stringify({ Name: name, Workflow: name }))) as Machine).Uuid;
}

const machineOf = async (uuid: string) => (await server.must("machines", "show", uuid)) as Machine;
const jobsOf = async (uuid: string) => (await server.must("jobs", "list", `Machine=${uuid}`)) as readonly Job[];

const agentWords = (uuid: string) => ["rebar", "agent", "--machine", uuid, "--state-dir", join(directory, uuid)];
const agent = (uuid: string, ...more: readonly string[]) =>
  slipway([...agentWords(uuid), "--oneshot", "--exit-on-failure", ...more], { env: server.env });

/** A program that stays; `said` is all that it printed so far. */
function start(
  words: readonly string[],
  env = server.env,
): { readonly child: ChildProcess; readonly said: () => string } {
  const child = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { child, said: () => said };
}

async function end(child: ChildProcess): Promise<void> {
  // Not its exit, before which not all that it has printed need have come.
  const gone = once(child, "close");
  child.kill("SIGKILL");
  await gone;
}

test("15.1 the client that scripts use reads info and preferences with the first user's password", async () => {
  expect(await server.must("info", "get")).toMatchObject({ version: "v4.8.0" });
  expect(await server.must("prefs", "list")).toMatchObject({ defaultStage: "none", defaultBootEnv: "local" });
});

test("15.25 the calls of the original agent, by Python: token, stream, job, log, end; 14.24 a log that is sent as text is 415", async () => {
  const uuid = await machineWith("python", ["echo hi"]);
  const client = join(root, "test/e2e/rebar-client.py");
  const run = await exec("/usr/bin/python3", [client, server.env["RS_ENDPOINT"] ?? "", uuid], { env: server.env });
  expect(run.code, run.err).toBe(0);
  expect(JSON.parse(run.out)).toEqual({
    machine: "python",
    absent: null,
    registered: { Type: "websocket", Action: "register", Key: `machines.update.${uuid}` },
    posted: [201, "created", "00000000-0000-0000-0000-000000000000"],
    event: { Type: "machines", Action: "update", Key: uuid },
    task: "python-0",
    running: 200,
    actions: [{ Name: "s", Path: "", Content: "#!/usr/bin/env bash\necho hi\n", Meta: {} }],
    text: 415,
    logs: [204, 204],
    finished: [200, "finished", "complete"],
    log: "Log for Job: JOB\nfirst\nafter the end\n",
    last: [204, "application/json", ""],
    complete: true,
    conflict: 409,
  });
});

test("15.25 an agent that runs once completes three tasks, and the log of one is 1 MiB, whole (15.27)", async () => {
  const uuid = await machineWith("three", ["echo one", "seq 1 150000", "echo three"]);
  const run = await agent(uuid);
  expect(run.code, run.err).toBe(0);
  expect(await machineOf(uuid)).toMatchObject({ WorkflowComplete: true, Runnable: true });
  expect((await jobsOf(uuid)).filter(({ Current }) => Current)).toHaveLength(1);
  const log = await slipway(["logs", `machines.rebar.slipway.dev/${uuid}`, "three-1", "-n", "rebar"], {
    env: { SLIPWAY_KUBECONFIG: server.kubeconfig },
  });
  const numbers = log.out.split("\n").filter((line) => /^(?:\S+ \| )?\d+$/.test(line));
  expect(numbers).toHaveLength(150_000);
  expect(numbers.at(-1)).toContain("150000");
});

test("15.23 an agent that is killed while a script runs leaves a job that the next one fails; --mark-runnable goes on", async () => {
  const uuid = await machineWith("killed", [
    'if test -e "$HOME/again"; then echo again; else touch "$HOME/again"; sleep 60 & wait; fi',
  ]);
  const env = { ...server.env, HOME: directory };
  const { child: first } = start(agentWords(uuid), env);
  await expect.poll(async () => (await jobsOf(uuid))[0]?.State).toBe("running");
  await expect.poll(() => exec("test", ["-e", join(directory, "again")]).then(({ code }) => code)).toBe(0);
  await end(first);
  const second = await slipway([...agentWords(uuid), "--oneshot"], { env });
  expect(second.code, second.err).toBe(0);
  expect(await machineOf(uuid)).toMatchObject({ Runnable: false, WorkflowComplete: false });
  const third = await slipway([...agentWords(uuid), "--oneshot", "--mark-runnable"], { env });
  expect(third.code, third.err).toBe(0);
  expect((await jobsOf(uuid)).map(({ State }) => State).sort()).toEqual(["failed", "finished"]);
});

test("15.12 a context hands over from the machine's agent to its own and back", async () => {
  await load("contexts", {
    tasks: { where: { Templates: script('echo "in <$RS_CONTEXT>"') } },
    stages: { contexts: { Tasks: ["where", "context:other", "where", "context:", "where"] } },
    workflows: { contexts: { Stages: ["contexts"] } },
  });
  const { Uuid } = (await server.must("machines", "create", '{"Name":"contexts","Workflow":"contexts"}')) as Machine;
  const own = start(agentWords(Uuid));
  const other = start([...agentWords(Uuid), "--context", "other", "--state-dir", join(directory, "other")]);
  await expect.poll(async () => (await machineOf(Uuid)).WorkflowComplete).toBe(true);
  await Promise.all([end(own.child), end(other.child)]);
  expect(own.said().match(/^in <.*>$/gm)).toEqual(["in <>", "in <>"]);
  expect(other.said().match(/^in <.*>$/gm)).toEqual(["in <other>"]);
});

test("15.18 scripts with each exit code leave job, machine and agent as the table says", async () => {
  const table = [
    [0, "finished", "complete", true, "AGENT_WAIT_FOR_CHANGE_STAGE"],
    [1, "failed", "failed", false, "AGENT_WAIT_FOR_RUNNABLE"],
    [16, "finished", "stop", false, "AGENT_RUN_TASK"],
    [32, "finished", "poweroff", false, "AGENT_POWEROFF"],
    [64, "finished", "reboot", false, "AGENT_REBOOT"],
    [128, "incomplete", "complete", false, "AGENT_WAIT_FOR_RUNNABLE"],
    [144, "incomplete", "stop", false, "AGENT_RUN_TASK"],
    [160, "incomplete", "poweroff", false, "AGENT_POWEROFF"],
    [192, "incomplete", "reboot", false, "AGENT_REBOOT"],
    [96, "failed", "failed", false, "AGENT_WAIT_FOR_RUNNABLE"],
  ] as const;
  const stages = Object.fromEntries(table.map(([code]) => [`exit-${code}`, { Tasks: [`exit-${code}`] }]));
  const tasks = Object.fromEntries(table.map(([code]) => [`exit-${code}`, { Templates: script(`exit ${code}`) }]));
  await load("exits", { tasks, stages });
  const ended = table.map(async ([code]) => {
    const body = JSON.stringify({ Name: `exit-${code}`, Stage: `exit-${code}` });
    const { Uuid } = (await server.must("machines", "create", body)) as Machine;
    const run = await slipway([...agentWords(Uuid), "--oneshot"], { env: server.env });
    return { code: run.code, states: run.err.match(/^AGENT_\w+/gm) ?? [] };
  });
  const agents = await Promise.all(ended);
  const machines = (await server.must("machines", "list", "Name=Re(^exit-)")) as readonly Machine[];
  const jobs = (await server.must("jobs", "list", "Task=Re(^exit-)")) as readonly Job[];
  const found = table.map(([code], at) => {
    const { State, ExitState } = jobs.find(({ Task }) => Task === `exit-${code}`) ?? {};
    const runs = machines.find(({ Name }) => Name === `exit-${code}`)?.Runnable;
    expect([agents[at]?.code, agents[at]?.states.at(-1)]).toEqual([0, "AGENT_EXIT"]);
    return [code, State, ExitState, runs, agents[at]?.states.at(-2)];
  });
  expect(found).toEqual(table);
});

test("15.26 events watch shows every transition of a machine in order, each with the object before and after", async () => {
  const { child: watch, said } = start(["rebar", "drpcli", "events", "watch", "machines.*.*"]);
  const hello = JSON.stringify({ Type: "machines", Action: "hello", Key: "x" });
  await expect.poll(async () => `${(await server.drpcli(["events", "post", hello])).err}${said()}`).toContain("hello");
  const uuid = await machineWith("watched", ["true", "true"]);
  expect((await agent(uuid)).code).toBe(0);
  const events = () =>
    JSON.parse(`[${said().replaceAll("\n}\n{", "\n},\n{")}]`) as readonly {
      readonly Action: string;
      readonly Object: Machine;
      readonly Original: Machine | null;
    }[];
  await expect.poll(said).toContain('"WorkflowComplete": true');
  await end(watch);
  const shown = events().filter(({ Action }) => Action !== "hello");
  expect(shown.map(({ Action }) => Action)).toEqual(["create", ...shown.slice(1).map(() => "update")]);
  // Nothing is left out: each event begins where the one before has ended.
  expect(shown.map(({ Original }) => Original)).toEqual([null, ...shown.slice(0, -1).map((event) => event.Object)]);
  expect(shown.map((event) => event.Object.CurrentTask)).toEqual([-1, 1, 2, 3]);
  expect(shown.at(-1)?.Object).toMatchObject({ Uuid: uuid, WorkflowComplete: true });
});

test("15.31 a bundle is uploaded, counted, replaced and removed, its objects cannot be changed, and a bad one changes nothing", async () => {
  const bundle = (Version: string, names: readonly string[], more = {}) => {
    const tasks = Object.fromEntries(names.map((name) => [name, { Templates: script("true") }]));
    return JSON.stringify({ meta: { Name: "uploaded", Version }, sections: { tasks: { ...tasks, ...more } } });
  };
  const counted = async () =>
    ((await server.must("contents", "list")) as readonly { meta: { Name: string; Version: string }; Counts: object }[])
      .filter(({ meta }) => meta.Name === "uploaded")
      .map(({ meta, Counts }) => [meta.Version, Counts]);
  await server.must("contents", "upload", bundle("v1.0.0", ["up-1", "up-2"]));
  expect(await counted()).toEqual([["v1.0.0", { tasks: 2 }]]);
  expect(await server.must("tasks", "show", "up-1")).toMatchObject({ ReadOnly: true, Bundle: "uploaded" });
  const changed = await server.drpcli(["tasks", "update", "up-1", '{"Description":"mine"}']);
  expect([changed.code, changed.err]).toEqual([1, expect.stringContaining("readonly: up-1")]);
  await server.must("contents", "upload", bundle("v2.0.0", ["up-2", "up-3", "up-4"]));
  expect((await server.drpcli(["tasks", "exists", "up-1"])).code).toBe(1);
  const bad = { "up-bad": { Templates: [{ Name: "s", Contents: "{{ if }}" }] } };
  const refused = await server.drpcli(["contents", "upload", bundle("v3.0.0", ["up-5"], bad)]);
  expect(refused.code).toBe(1);
  expect(await counted()).toEqual([["v2.0.0", { tasks: 3 }]]);
  expect((await server.drpcli(["tasks", "exists", "up-5"])).code).toBe(1);
  expect((await server.drpcli(["contents", "destroy", "uploaded"])).code).toBe(0);
  expect(await counted()).toEqual([]);
  expect((await server.drpcli(["tasks", "exists", "up-2"])).code).toBe(1);
});

test("15.37 kubectl lists the machines that clients see, a patch of the workflow has its effects, and what is used stays", async () => {
  const uuid = await machineWith("patched", ["true"]);
  expect(await kubectl.must(["get", "machines.rebar.slipway.dev", "-n", "rebar"])).toMatch(
    new RegExp(`${uuid} +patched +patched +patched +-1`),
  );
  const patch = ["patch", "machines.rebar.slipway.dev", uuid, "-n", "rebar", "--type=merge", "-p"];
  await kubectl.must([...patch, '{"spec":{"Workflow":""}}']);
  await expect.poll(async () => (await machineOf(uuid)).Stage).toBe("none");
  expect(await machineOf(uuid)).toMatchObject({ Tasks: [], CurrentTask: -1 });
  await kubectl.must([...patch, '{"spec":{"Workflow":"patched"}}']);
  await expect.poll(async () => (await machineOf(uuid)).Tasks).toEqual(["stage:patched", "patched-0"]);
  await server.must("profiles", "create", "kept");
  await server.must("machines", "addprofile", uuid, "kept");
  const remove = ["delete", "profiles.rebar.slipway.dev", "kept", "-n", "rebar"];
  expect((await kubectl.run(remove)).err).toContain("Profile kept is in use by machine patched");
  const removeAll = [
    "delete",
    "--raw",
    "/apis/rebar.slipway.dev/v1/namespaces/rebar/profiles?fieldSelector=metadata.name%3Dkept",
  ];
  expect((await kubectl.run(removeAll)).err).toContain("Profile kept is in use by machine patched");
  await server.must("machines", "removeprofile", uuid, "kept");
  await kubectl.must(remove);
});

test("15.22 the task that asks for a reboot once skips its work after it", async () => {
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const begun = await slipway(["run", "--detach", "examples/rebar/reboot.yaml"], { env });
  expect(begun.code, begun.err).toBe(0);
  const uuidOf = () =>
    kubectl.run(["get", "machines.rebar.slipway.dev", "node-7", "-n", "rebar", "-o", "jsonpath={.spec.Uuid}"]);
  await expect.poll(async () => (await uuidOf()).out).toMatch(/^[\da-f-]{36}$/);
  const uuid = (await uuidOf()).out;
  const first = await agent(uuid);
  expect(first.out).toContain("running the thing");
  expect(await machineOf(uuid)).toMatchObject({ Runnable: false, WorkflowComplete: false });
  await expect
    .poll(() => kubectl.must(["get", "events", "-n", "rebar"]))
    .toMatch(
      /Normal +NotRunnable +machine\/node-7 +the machine is not Runnable: rocketskates made it so at task reboot-once/,
    );
  const why = await slipway(["why", "machines.rebar.slipway.dev/node-7", "-n", "rebar"], { env });
  expect(why.out).toContain("asked for reboot");
  const graph = await slipway(["graph", "machines.rebar.slipway.dev/node-7", "-n", "rebar"], { env });
  expect(graph.out).toMatch(/^ +reboot-once +Suspended/m);
  const resumed = await slipway(["resume", "machines.rebar.slipway.dev/node-7", "-n", "rebar"], { env });
  expect(resumed.code, resumed.err).toBe(0);
  const second = await agent(uuid);
  expect(second.out).toContain("Skipping task because param says so");
  expect(await machineOf(uuid)).toMatchObject({ WorkflowComplete: true });
});

test("a bundle and its machine run to their end by one command, with the agent it starts", async () => {
  const run = await slipway(["run", "--ephemeral", "examples/rebar/hello.yaml", "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(run.out).toContain("hello-say | Hello, Slipway, from web-1\n");
  expect(run.out).toContain("hello-remember | remembered\n");
  expect(run.err).toMatch(/web-1: Complete in [\d.]+s/);
});

test("15.24 an agent whose server is stopped asks again until it is back, and runs what is left once", async () => {
  const uuid = await machineWith("away", ['if test -e "$HOME/kept"; then exit 1; fi; touch "$HOME/kept"', "true"]);
  const { child, said } = start([...agentWords(uuid)], { ...server.env, HOME: directory });
  await expect.poll(async () => (await machineOf(uuid)).WorkflowComplete).toBe(true);
  await server.stop();
  // Its wait ends, and so does the first try to begin anew; the next one is half a minute later.
  await expect.poll(() => said().match(/^AGENT_INIT/gm)).toHaveLength(3);
  server = await startRebar(join(directory, "data"), address);
  const tasks = JSON.stringify({ Tasks: [...(await machineOf(uuid)).Tasks, "away-1"] });
  await server.must("machines", "update", uuid, tasks);
  await expect.poll(async () => (await machineOf(uuid)).WorkflowComplete).toBe(true);
  await end(child);
  expect((await jobsOf(uuid)).map(({ Task, State }) => `${Task} ${State}`).toSorted()).toEqual([
    "away-0 finished",
    "away-1 finished",
    "away-1 finished",
  ]);
});
