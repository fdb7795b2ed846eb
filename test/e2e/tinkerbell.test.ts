import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatInstant, systemClock } from "#lib/base/index.ts";
import { pathOf, TinkerbellPlane } from "#test/conformance/tinkerbell/plane.ts";
import { untilNextInstant } from "#test/support/cluster-under-test.ts";
import { cleanEnvironment, endRunner, removeDirectory, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";

// Documents, the server and the controller as they are, and the agent as a user starts it, with actions that are processes.

const patience = { timeout: 60_000 };
let directory: string;
let plane: TinkerbellPlane;
const agents = new Map<string, ChildProcess>();

beforeEach(async () => {
  directory = await temporaryDirectory();
  plane = await TinkerbellPlane.start();
});
afterEach(async () => {
  for (const agent of agents.values()) agent.kill("SIGKILL");
  await Promise.all([...agents.keys()].map((id) => endRunner(join(directory, id))));
  agents.clear();
  await plane.close();
  await removeDirectory(directory);
});

/** The program itself. */
async function startAgent(id: string, ...more: readonly string[]): Promise<ChildProcess> {
  const server = `127.0.0.1:${await plane.agentPort}`;
  const own = ["--id", id, "--runtime", "host", "--state-dir", join(directory, id)];
  const words = ["agent", "--server", server, ...own, ...more];
  const agent = spawn(slipwayBin, words, { env: cleanEnvironment({ HOME: directory }), stdio: "ignore" });
  agents.set(id, agent);
  return agent;
}

/** A template whose actions are scripts, with what is to stand in them besides; a workflow of it under its own name. */
async function run(
  name: string,
  scripts: readonly (string | object)[],
  more: object = {},
  { worker = "node-7", metadata = {} }: { readonly worker?: string; readonly metadata?: object } = {},
) {
  const actions = scripts.map((script, at) => ({
    name: `a${at}`,
    image: "none",
    ...(typeof script === "string" ? { command: ["/bin/sh", "-c", script] } : script),
  }));
  const data = JSON.stringify({ version: "0.1", name, tasks: [{ name: "t", worker, actions }], ...more });
  for (const answer of [
    await plane.create("templates", { data }, name),
    await plane.create("workflows", { templateRef: name }, name, "v1alpha1", metadata),
  ])
    expect(answer.status, answer.text).toBe(201);
}

interface ActionStatus {
  readonly state?: string;
  readonly attempts?: number;
  readonly executionStart?: string;
  readonly executionStop?: string;
}
interface Status {
  readonly state?: string;
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly deadlines?: object;
  readonly tasks?: readonly { readonly actions: readonly ActionStatus[] }[];
}
const statusOf = async (name: string) => ((await plane.workflow(name))["status"] ?? {}) as unknown as Status;
const stateOf = async (name: string) => (await statusOf(name)).state;
const actionsOf = async (name: string) => (await statusOf(name)).tasks?.flatMap(({ actions }) => actions) ?? [];
async function patchStatus(name: string, status: object): Promise<void> {
  const headers = { "Content-Type": "application/merge-patch+json" };
  const answer = await plane.api.ask("PATCH", `${pathOf("workflows")}/${name}/status`, { body: { status }, headers });
  expect(answer.status, answer.text).toBe(200);
}
/** Whether a process is there. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // ESRCH: it has gone.
    return false;
  }
}
const file = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");

test("an agent carries out the actions of a workflow one after the other", async () => {
  await startAgent("node-7");
  await run(
    "w",
    ["one", "two", "three"].map((word) => `echo ${word} >> ${directory}/out`),
  );
  await expect.poll(() => stateOf("w"), patience).toBe("SUCCESS");
  expect(await file("out")).toBe("one\ntwo\nthree\n");
  expect((await actionsOf("w")).map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
    Array.from({ length: 3 }, () => "SUCCESS 1"),
  );
  expect(await plane.condition("Succeeded")).toMatchObject({ status: "True" });
});

test("workflows of one agent are carried out in the order of their creation, one at a time", async () => {
  for (const name of ["c", "a", "b"]) {
    await run(name, [`echo ${name} begins >> ${directory}/out; sleep 0.2; echo ${name} ends >> ${directory}/out`]);
    await untilNextInstant();
  }
  await startAgent("node-7");
  await expect.poll(() => stateOf("b"), patience).toBe("SUCCESS");
  expect(await file("out")).toBe(["c", "a", "b"].map((name) => `${name} begins\n${name} ends\n`).join(""));
});

test("workflows of two agents run at the same time", async () => {
  const meet = (own: string, other: string) =>
    `touch ${directory}/${own}; until test -e ${directory}/${other}; do sleep 0.05; done`;
  await run("a", [meet("a", "b")], {}, { worker: "node-7" });
  await run("b", [meet("b", "a")], {}, { worker: "node-8" });
  await startAgent("node-7");
  await startAgent("node-8");
  // Each waits for the other to run.
  for (const name of ["a", "b"]) await expect.poll(() => stateOf(name), patience).toBe("SUCCESS");
});

test("the tasks of two agents are carried out in turn", async () => {
  const task = (worker: string) => ({
    name: `on ${worker}`,
    worker,
    actions: [{ name: "a", image: "none", command: ["/bin/sh", "-c", `echo ${worker} >> ${directory}/out`] }],
  });
  const data = JSON.stringify({
    name: "w",
    tasks: [task("node-7"), task("node-8"), task("node-7")].map((one, at) => ({ ...one, name: `${at}` })),
  });
  await plane.create("templates", { data }, "w");
  await plane.create("workflows", { templateRef: "w" }, "w");
  await startAgent("node-7");
  // The part of the one has ended: it is the other's turn.
  await expect.poll(() => statusOf("w"), patience).toMatchObject({ state: "RUNNING", agentID: "node-8" });
  await startAgent("node-8");
  await expect.poll(() => stateOf("w"), patience).toBe("SUCCESS");
  expect(await statusOf("w")).toMatchObject({ agentID: "node-7" });
  expect(await file("out")).toBe("node-7\nnode-8\nnode-7\n");
});

test("an action that takes too long is stopped, and its agent takes the next workflow", async () => {
  await startAgent("node-7");
  await run("w", [{ timeout: 1, command: ["/bin/sh", "-c", `echo $$ > ${directory}/pid; exec sleep 600`] }, "true"]);
  await run("next", ["true"]);
  await expect.poll(() => stateOf("w"), patience).toBe("TIMEOUT");
  expect(await statusOf("w")).toMatchObject({ failureReason: "ActionTimeout" });
  expect((await actionsOf("w")).map(({ state }) => state)).toEqual(["TIMEOUT", "PENDING"]);
  await expect.poll(() => stateOf("next"), patience).toBe("SUCCESS");
  // On a busy machine the time may be over before the program has begun.
  const pid = Number(await file("pid"));
  await expect.poll(() => pid !== 0 && isAlive(pid), patience).toBe(false);
});

test("a workflow that takes too long is stopped in whichever action it is", async () => {
  await startAgent("node-7");
  await run("w", ["true", `echo up > ${directory}/out; sleep 600`], { global_timeout: 3600 });
  await expect.poll(() => file("out"), patience).toBe("up\n");
  const { deadlines } = await statusOf("w");
  expect(deadlines).toMatchObject({ workflow: expect.any(String) });
  // Any shorter time might be over before the second action has begun.
  await patchStatus("w", { deadlines: { workflow: formatInstant(systemClock.now()) } });
  await expect.poll(() => stateOf("w"), patience).toBe("TIMEOUT");
  expect(await statusOf("w")).toMatchObject({ failureReason: "WorkflowTimeout" });
  expect((await actionsOf("w")).map(({ state }) => state)).toEqual(["SUCCESS", "TIMEOUT"]);
});

test("a workflow that is deleted while it runs is gone when its action has ended", async () => {
  await startAgent("node-7");
  await run("w", [
    `trap 'echo told >> ${directory}/out; exit 1' TERM; echo ready >> ${directory}/out; while :; do sleep 0.05; done`,
  ]);
  await expect.poll(() => file("out"), patience).toBe("ready\n");
  await plane.api.ask("DELETE", `${pathOf("workflows")}/w`);
  await expect.poll(async () => (await plane.workflow())["reason"], patience).toBe("NotFound");
  expect(await file("out")).toBe("ready\ntold\n");
});

/** Deletes a workflow that somebody holds, so that its end can be read. */
async function deleteHeld(name: string): Promise<void> {
  await plane.api.ask("DELETE", `${pathOf("workflows")}/${name}`);
  await expect.poll(() => stateOf(name), patience).toBe("CANCELED");
}
const held = { metadata: { finalizers: ["example.com/keep"] } };

test("an action that does not listen to TERM is killed after the grace, and that confirms the cancel", async () => {
  await startAgent("node-7", "--stop-grace", "200ms");
  await run("w", [`trap '' TERM; echo $$ > ${directory}/pid; while :; do sleep 0.05; done`], {}, held);
  await expect.poll(() => file("pid"), patience).not.toBe("");
  await deleteHeld("w");
  expect(await statusOf("w")).toMatchObject({ failureReason: "Canceled", failureMessage: "canceled by Delete" });
  // Its parent is killed with it, so that it is a zombie until the system has heard of its end.
  const pid = Number(await file("pid"));
  await expect.poll(() => isAlive(pid), patience).toBe(false);
});

test("a workflow whose agent was killed before is canceled when the time is over, and says so", async () => {
  await plane.close();
  plane = await TinkerbellPlane.start({ cancellingTimeout: 1000 });
  const agent = await startAgent("node-7");
  await run("w", [`echo up > ${directory}/out; sleep 600`], {}, held);
  await expect.poll(() => file("out"), patience).toBe("up\n");
  agent.kill("SIGKILL");
  await once(agent, "exit");
  await deleteHeld("w");
  expect(await statusOf("w")).toMatchObject({
    failureReason: "CancelTimeout",
    failureMessage: "agent node-7 did not confirm cancellation within 1s; the action may still be running",
  });
});

test("an agent at work refuses what it is given by mistake; that waits, and comes when it is free", async () => {
  await startAgent("node-7");
  await run("w", [`echo up > ${directory}/out; until test -e ${directory}/go; do sleep 0.05; done`]);
  await expect.poll(() => file("out"), patience).toBe("up\n");
  await run("next", ["true"]);
  // The record of who is busy is wrong, whoever has written it.
  await patchStatus("w", { dispatch: { held: false } });
  await expect
    .poll(() => statusOf("next"), patience)
    .toMatchObject({ state: "PENDING", dispatch: { held: false, lastRejection: { reason: "WorkflowInProgress" } } });
  writeFileSync(join(directory, "go"), "");
  for (const name of ["w", "next"]) await expect.poll(() => stateOf(name), patience).toBe("SUCCESS");
  expect((await actionsOf("w")).map(({ attempts }) => attempts)).toEqual([1]);
});

test("what stands in the failure files is told as far as it can be", async () => {
  const [reason, message] = ["$TINKERBELL_FAILURE_REASON_FILE", "$TINKERBELL_FAILURE_MESSAGE_FILE"];
  const rows = [
    [`echo 'Disk Full!' > ${reason}`, "InvalidReason", "Disk Full!: exit code 1"],
    [`printf 'one\\ntwo' > ${message}`, "NonZeroExit", "one\\ntwo"],
    [`rm ${reason} ${message}`, "NonZeroExit", "exit code 1"],
    [`rm ${reason} ${message}; mkdir ${reason}; ln -s /etc/passwd ${message}`, "NonZeroExit", "exit code 1"],
  ] as const;
  await startAgent("node-7");
  for (const [at, [script]] of rows.entries()) await run(`w${at}`, [`${script}; exit 1`]);
  for (const [at, [, failureReason, text]] of rows.entries()) {
    await expect.poll(() => stateOf(`w${at}`), patience).toBe("FAILED");
    expect(await statusOf(`w${at}`)).toMatchObject({ failureReason, failureMessage: `action "a0" failed: ${text}` });
  }
});

test("the words of an action that fails are those of the workflow", async () => {
  await startAgent("node-7");
  const files =
    "echo DiskMissing > $TINKERBELL_FAILURE_REASON_FILE; echo no /dev/sda > $TINKERBELL_FAILURE_MESSAGE_FILE";
  await run("w", [`${files}; exit 1`]);
  await expect.poll(() => stateOf("w"), patience).toBe("FAILED");
  expect(await statusOf("w")).toMatchObject({
    failureReason: "DiskMissing",
    failureMessage: 'action "a0" failed: no /dev/sda',
  });
  expect(await plane.condition("Succeeded")).toMatchObject({
    status: "False",
    reason: "DiskMissing",
    message: "no /dev/sda",
  });
});

test("an agent that is killed in the middle of an action takes it up again, and it runs once", async () => {
  const agent = await startAgent("node-7");
  await run("w", [
    `echo begins >> ${directory}/out; until test -e ${directory}/go; do sleep 0.05; done`,
    `echo after >> ${directory}/out`,
  ]);
  await expect.poll(() => file("out"), patience).toBe("begins\n");
  agent.kill("SIGKILL");
  await once(agent, "exit");
  await startAgent("node-7");
  await run("gate", ["true"]);
  const touch = spawn("touch", [join(directory, "go")]);
  await once(touch, "exit");
  await expect.poll(() => stateOf("w"), patience).toBe("SUCCESS");
  expect(await file("out")).toBe("begins\nafter\n");
  expect((await actionsOf("w")).map(({ attempts }) => attempts)).toEqual([1, 1]);
  await expect.poll(() => stateOf("gate"), patience).toBe("SUCCESS");
});
