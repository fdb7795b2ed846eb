import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { agentCommand } from "#dialects/tinkerbell/commands/agent.ts";
import { type MessageInitShape, type Replies, RpcListener, service, workflowV2 } from "#kernel/rpc/index.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";

type Command = MessageInitShape<typeof workflowV2.GetWorkflowsResponseSchema>;

let directory: string;
let listener: RpcListener;
/** Of the agent that is connected. */
let replies: Replies<typeof workflowV2.GetWorkflowsResponseSchema> | undefined;
const hello: string[] = [];
const events: string[] = [];
const agents = new Set<ChildProcess>();

beforeEach(async () => {
  directory = await temporaryDirectory();
  for (const list of [hello, events]) list.length = 0;
  listener = await RpcListener.start({
    address: "127.0.0.1:0",
    clock: systemClock,
    log: silentLog,
    drain: 0,
    services: [
      service(workflowV2.WorkflowService, {
        async getWorkflows({ agentId }, to, call) {
          hello.push(`${agentId} ${call.header("x-slipway-resume")}`.trim());
          replies = to;
          await once(call.signal, "abort");
          replies = undefined;
        },
        async publishEvent({ event }) {
          const { actionId, failureReason } = { actionId: "", failureReason: "", ...event?.event.value };
          events.push([event?.event.case, actionId, failureReason].filter(Boolean).join(" "));
          return {};
        },
      }),
    ],
  });
});
afterEach(async () => {
  for (const agent of agents) agent.kill("SIGKILL");
  agents.clear();
  await listener.close();
  await endRunner(join(directory, "state"));
  await removeDirectory(directory);
});

/** The program itself, as a user starts it; resolves when it has connected. */
async function begin(...more: readonly string[]) {
  const before = hello.length;
  const words = ["agent", "--server", `127.0.0.1:${listener.port}`, "--id", "node-7", "--runtime", "host"];
  const agent = spawn(slipwayBin, [...words, "--state-dir", join(directory, "state"), ...more], {
    env: cleanEnvironment({ HOME: directory }),
    stdio: ["ignore", "ignore", "pipe"],
  });
  agents.add(agent);
  let log = "";
  agent.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ended = once(agent, "exit");
  await expect.poll(() => hello.length, { message: log }).toBe(before + 1);
  return {
    async end(signal: NodeJS.Signals) {
      agent.kill(signal);
      await ended;
      return agent.exitCode;
    },
  };
}

const start = (...scripts: readonly string[]): Command => ({
  cmd: {
    case: "startWorkflow",
    value: {
      workflow: {
        workflowId: "default/w/uid",
        actions: scripts.map((script, index) => ({
          id: `a${index}`,
          name: `a${index}`,
          image: "-",
          cmd: "/bin/sh",
          args: ["-c", script],
        })),
      },
    },
  },
});
const log = () => readFile(join(directory, "state/logs/uid/a0.log"), "utf8").catch(() => "");
const send = (command: Command) => {
  if (replies === undefined) throw new Error("no agent is connected");
  replies.send(command);
};

test("slipway agent carries out a workflow and keeps its output", async () => {
  const agent = await begin();
  expect(hello).toEqual(["node-7"]);
  send(start("echo hello", "echo DiskMissing > $TINKERBELL_FAILURE_REASON_FILE; exit 1", "true"));
  await expect.poll(() => events).toHaveLength(4);
  expect(events).toEqual(["actionStarted a0", "actionSucceeded a0", "actionStarted a1", "actionFailed a1 DiskMissing"]);
  expect(await log()).toContain("stdout F hello");
  expect(await agent.end("SIGTERM")).toBe(0);
});

test("an agent that is ended leaves its action running, and the next one tells the result", async () => {
  const agent = await begin();
  send(start(`echo up; until test -e ${join(directory, "go")}; do sleep 0.05; done; exit 9`));
  // Before it has heard that its start was recorded, the next one would tell that once more.
  await expect.poll(log).toContain("up");
  expect(events).toEqual(["actionStarted a0"]);
  expect(await agent.end("SIGTERM")).toBe(0);
  const next = await begin();
  expect(hello.at(-1)).toBe("node-7 default/w/uid;action=a0;state=running");
  await exec("touch", [join(directory, "go")]);
  await expect.poll(() => events).toEqual(["actionStarted a0", "actionFailed a0 NonZeroExit"]);
  expect(await next.end("SIGINT")).toBe(0);
});

test("an agent that kills on exit ends its action and says so", async () => {
  const agent = await begin("--kill-on-exit");
  send(start("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
  // The trap is set a moment after the start was told.
  await expect.poll(log).toContain("up");
  expect(await agent.end("SIGTERM")).toBe(0);
  expect(events).toEqual(["actionStarted a0", "actionFailed a0 Canceled"]);
  expect(await log()).toContain("asked");
});

describe("what is wrong is said", () => {
  const run = (words: readonly string[]) =>
    exec(slipwayBin, ["agent", ...words], { env: cleanEnvironment({ HOME: directory }) });

  test.each<readonly [readonly string[], number, string]>([
    [["--server", "nowhere"], 2, 'expected HOST:PORT for --server, such as provision.example:42113, found "nowhere"'],
    [["--server", "a:1", "--id", "a", "--runtime", "kubernetes"], 2, "docker, host"],
    [["--server", "a:1", "--id", "a", "--stop-grace", "soon"], 2, "--stop-grace: expected a duration"],
  ])("%j", async (words, code, message) => {
    const done = await run(words);
    expect(done.err).toContain(message);
    expect(done.code).toBe(code);
  });

  test("a directory that another agent has", async () => {
    await begin();
    const done = await run([
      "--server",
      "a:1",
      "--id",
      "a",
      "--runtime",
      "host",
      "--state-dir",
      join(directory, "state"),
    ]);
    expect(done.err).toContain(`another agent is running on ${join(directory, "state")}`);
    expect(done.code).toBe(1);
  });

  test("a directory that cannot be", async () => {
    const file = join(directory, "file");
    await writeFile(file, "");
    const place = ["--state-dir", join(file, "state")];
    const done = await run(["--server", "a:1", "--id", "a", "--runtime", "host", ...place]);
    expect(done.err).toContain(`cannot keep the agent's journal in ${join(file, "state")}: ENOTDIR`);
    expect(done.err).toContain("with --state-dir");
    expect(done.code).toBe(1);
  });
});

test.each(agentCommand.examples)("%s", async (example) => {
  const agent = spawn(slipwayBin, example.split(" ").slice(1), {
    env: cleanEnvironment({ HOME: directory, DOCKER_HOST: "unix:///nowhere/docker.sock", SLIPWAY_AGENT_ID: "node-8" }),
    stdio: ["ignore", "ignore", "pipe"],
  });
  agents.add(agent);
  let log = "";
  agent.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  // Neither server nor engine is there: it waits for them, and says so.
  await expect.poll(() => log).toMatch(/not connected to the server|does not answer, waiting|waiting for a server/);
  const ended = once(agent, "exit");
  agent.kill("SIGTERM");
  await ended;
  expect(agent.exitCode).toBe(0);
});
