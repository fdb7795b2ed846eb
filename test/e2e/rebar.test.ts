import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
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
let server: RebarServer;
let kubectl: Kubectl;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startRebar(join(directory, "data"));
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
});

afterAll(async () => {
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
});

interface Machine {
  readonly Uuid: string;
  readonly Stage: string;
  readonly Tasks: readonly string[];
  readonly CurrentTask: number;
  readonly CurrentJob: string;
  readonly Runnable: boolean;
  readonly WorkflowComplete: boolean;
}

const script = (text: string) => [{ Name: "s", Contents: `#!/usr/bin/env bash\n${text}\n` }];

/** A workflow of one stage with these scripts, and a machine in it. */
async function machineWith(name: string, scripts: readonly string[]): Promise<string> {
  const tasks = Object.fromEntries(scripts.map((text, at) => [`${name}-${at}`, { Templates: script(text) }]));
  const bundle = {
    meta: { Name: `content-${name}`, Version: "v1.0.0" },
    sections: { tasks, stages: { [name]: { Tasks: Object.keys(tasks) } }, workflows: { [name]: { Stages: [name] } } },
  };
  const loaded = await server.drpcli(["contents", "create", "-"], JSON.stringify(bundle));
  expect(loaded.code, loaded.err).toBe(0);
  return ((await server.must("machines", "create", JSON.stringify({ Name: name, Workflow: name }))) as Machine).Uuid;
}

const machineOf = async (uuid: string) => (await server.must("machines", "show", uuid)) as Machine;
const jobsOf = async (uuid: string) =>
  (await server.must("jobs", "list", `Machine=${uuid}`)) as readonly {
    Task: string;
    State: string;
    Current: boolean;
  }[];

const agentWords = (uuid: string) => ["rebar", "agent", "--machine", uuid, "--state-dir", join(directory, uuid)];
const agent = (uuid: string, ...more: readonly string[]) =>
  slipway([...agentWords(uuid), "--oneshot", "--exit-on-failure", ...more], { env: server.env });

function startAgent(uuid: string, ...more: readonly string[]): ChildProcess & { said(): string } {
  const child = spawn(process.execPath, [slipwayBin, ...agentWords(uuid), ...more], {
    env: cleanEnvironment(server.env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return Object.assign(child, { said: () => said });
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
  const first = spawn(process.execPath, [slipwayBin, ...agentWords(uuid)], { env: cleanEnvironment(env) });
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
  const content = {
    meta: { Name: "content-contexts", Version: "v1.0.0" },
    sections: {
      tasks: { where: { Templates: script('echo "in <$RS_CONTEXT>"') } },
      stages: { contexts: { Tasks: ["where", "context:other", "where", "context:", "where"] } },
      workflows: { contexts: { Stages: ["contexts"] } },
    },
  };
  const loaded = await server.drpcli(["contents", "create", "-"], JSON.stringify(content));
  expect(loaded.code, loaded.err).toBe(0);
  const { Uuid } = (await server.must("machines", "create", '{"Name":"contexts","Workflow":"contexts"}')) as Machine;
  const own = startAgent(Uuid);
  const other = startAgent(Uuid, "--context", "other", "--state-dir", join(directory, "other"));
  await expect.poll(async () => (await machineOf(Uuid)).WorkflowComplete).toBe(true);
  await Promise.all([end(own), end(other)]);
  expect(own.said().match(/^in <.*>$/gm)).toEqual(["in <>", "in <>"]);
  expect(other.said().match(/^in <.*>$/gm)).toEqual(["in <other>"]);
});

test("15.37 kubectl lists the machines that clients see, and a patch of the workflow has its effects", async () => {
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
  const why = await slipway(["why", "machines.rebar.slipway.dev/node-7", "-n", "rebar"], { env });
  expect(why.out).toContain("asked for reboot");
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
