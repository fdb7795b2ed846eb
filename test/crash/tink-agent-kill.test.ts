import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type AgentEvent, judgeEvent } from "#dialects/tinkerbell/events.ts";
import { resume } from "#dialects/tinkerbell/reconnect.ts";
import { awaitsDispatch, isTerminal, segmentOf, type WorkflowState } from "#dialects/tinkerbell/state.ts";
import { action, begin, pending, settings } from "#dialects/tinkerbell/testing/states.ts";
import { dispatch } from "#dialects/tinkerbell/transitions.ts";
import { RpcError, RpcListener, service, workflowV2 } from "#kernel/rpc/index.ts";
import { runnerBundle, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";

// A real agent with real processes, killed again and again while it carries out a workflow, against the server's own rules behind real gRPC.

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const context = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
const workflow = "default/w/uid";

let directory: string;
let state: WorkflowState;
let listener: RpcListener;
const agents = new Set<ChildProcess>();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-agent-kill-"));
  const script = (name: string) => `echo ${name} >> ${join(directory, "runs")}; sleep 0.4; echo ${name} done`;
  const actions = ["one", "two", "three", "four"].map((name) =>
    action(name, { cmd: "/bin/sh", args: ["-c", script(name)] }),
  );
  state = pending({ actions });
  listener = await RpcListener.start({
    address: "127.0.0.1:0",
    clock: systemClock,
    log: silentLog,
    drain: 0,
    services: [tinkServer],
  });
});

afterEach(async () => {
  for (const agent of agents) agent.kill("SIGKILL");
  agents.clear();
  await listener.close();
  const runtime = await testRuntime(join(directory, "state"));
  await runtime.close({ stopTasks: 0 });
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

type Start = { readonly case: "startWorkflow"; readonly value: { readonly workflow: object } };

const start = (): Start => ({
  case: "startWorkflow",
  value: {
    workflow: {
      workflowId: workflow,
      actions: segmentOf(state).map(({ id, name, image, cmd = "", args, env, volumes }) => ({
        id,
        name,
        image,
        cmd,
        args: [...args],
        env: { ...env },
        volumes: [...volumes],
      })),
    },
  },
});

const tinkServer = service(workflowV2.WorkflowService, {
  async getWorkflows(_request, replies, call) {
    const said = /;state=(running|interrupted)/.exec(call.header("x-slipway-resume"))?.[1] ?? "none";
    if (state.dispatch.held) {
      const { move, send } = resume(
        state,
        said === "running" || said === "interrupted" ? said : "none",
        taker,
        begin,
        settings,
      );
      state = move?.state ?? state;
      if (send === "start") replies.send({ cmd: start() });
      if (send === "stop") replies.send({ cmd: { case: "stopWorkflow", value: { workflowId: workflow } } });
    } else if (awaitsDispatch(state)) {
      state = dispatch(state, taker, begin, settings).state;
      replies.send({ cmd: start() });
    }
    await once(call.signal, "abort");
  },
  async publishEvent({ event }) {
    const told = event?.event;
    if (told === undefined || told.case === undefined) throw new RpcError("INVALID_ARGUMENT", "no event");
    const verdict = judgeEvent(state, eventOf(told), context);
    state = verdict.state ?? state;
    if (verdict.code !== "OK") throw new RpcError(verdict.code, verdict.message ?? "");
    return {};
  },
});

function eventOf(told: { readonly case: string; readonly value: object }): AgentEvent {
  const { actionId = "", failureReason = "", failureMessage = "" } = told.value as Record<string, string>;
  if (told.case === "actionStarted") return { is: "started", action: actionId };
  if (told.case === "actionSucceeded") return { is: "succeeded", action: actionId };
  if (told.case === "actionFailed")
    return { is: "failed", action: actionId, reason: failureReason, message: failureMessage };
  return { is: "rejected", message: failureMessage };
}

async function beginAgent(): Promise<ChildProcess> {
  const program = await bundleProgram(fileURLToPath(new URL("./tink-agent-program.ts", import.meta.url)));
  const words = [program, `${listener.port}`, join(directory, "state"), await runnerBundle()];
  const agent = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"], detached: true });
  agents.add(agent);
  return agent;
}

/** What the agents have written to stderr, for who looks at a failure. */
const said: string[] = [];

async function killAfter(agent: ChildProcess, millis: number): Promise<void> {
  agent.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  await new Promise((resolve) => setTimeout(resolve, millis));
  // Its whole group, as a supervisor would; what runs is not in it.
  if (agent.pid !== undefined && agent.exitCode === null) process.kill(-agent.pid, "SIGKILL");
  if (agent.exitCode === null && agent.signalCode === null) await once(agent, "exit");
}

const runs = async () => (await readFile(join(directory, "runs"), "utf8").catch(() => "")).split("\n").filter(Boolean);

test("an agent that is killed again and again runs each action once, in order, and loses no result", async () => {
  let kills = 0;
  // Starting takes a few hundred milliseconds: from before the journal is read to well within an action.
  for (; kills < 15 && !isTerminal(state.phase); kills++)
    await killAfter(await beginAgent(), 150 + Math.random() * 1_200);
  if (!isTerminal(state.phase)) await beginAgent();
  await expect.poll(() => state.phase, { timeout: 100_000 }).toBe("Succeeded");
  expect(kills).toBeGreaterThan(1);
  expect(await runs(), said.join("")).toEqual(["one", "two", "three", "four"]);
  expect(state.actions.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
  for (const name of ["one", "two", "three", "four"])
    expect(await readFile(join(directory, `state/logs/uid/id-${name}.log`), "utf8")).toContain(`${name} done`);
});

test("a second agent on one directory is refused while the first one lives", async () => {
  const first = await beginAgent();
  first.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  await expect.poll(() => state.phase).toBe("Running");
  const second = await beginAgent();
  let told = "";
  second.stderr?.on("data", (chunk: Buffer) => (told += chunk.toString()));
  // Not its exit, before which not all that it has told need have come.
  await once(second, "close");
  expect(told).toContain("another agent is running on");
  first.kill("SIGTERM");
  await once(first, "exit");
  expect(first.exitCode).toBe(0);
  await beginAgent();
  await expect.poll(() => state.phase, { timeout: 60_000 }).toBe("Succeeded");
  expect(await runs()).toEqual(["one", "two", "three", "four"]);
});
