import { mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "#dialects/tinkerbell/agent/docker-runtime.ts";
import { agentAction, agentWorkflow, execution } from "#dialects/tinkerbell/agent/testing/executions.ts";
import type { AgentAction, Ending, Execution } from "#dialects/tinkerbell/agent/work.ts";
import { openContainerEngine } from "#kernel/runtimes/index.ts";
import { startRegistry } from "#test/support/registry.ts";
import { testImage } from "#test/support/docker-engine.ts";
import { engine } from "./engine.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-docker-agent-"));
});
afterEach(async () => {
  await engine.clear();
  await rm(directory, { recursive: true, force: true });
});

/** As an agent's process that begins. */
async function open(more: Partial<DockerRuntimeOptions> = {}): Promise<DockerRuntime> {
  const surroundings = { variable: (name: string) => (name === "DOCKER_HOST" ? engine.host : undefined), home: "/" };
  return new DockerRuntime({
    engine: await openContainerEngine(surroundings, systemClock),
    agentId: "agent-a",
    directory,
    pull: "never",
    isPrivileged: false,
    clock: systemClock,
    log: silentLog,
    ...more,
  });
}

/** The engine of tests has no bridge. */
const shell = (script: string, more: Partial<AgentAction> = {}): Execution => {
  const action = { image: testImage, cmd: "/bin/sh", args: ["-c", script], network: "none", ...more };
  return execution(agentWorkflow("w", agentAction("one", action)));
};
const never = new AbortController().signal;

async function carryOut(one: Execution, runtime?: DockerRuntime): Promise<Ending> {
  const docker = runtime ?? (await open());
  const prepared = await docker.prepare(one, never);
  return prepared.is === "prepared" ? docker.run(one, prepared.handle) : prepared;
}
const failure = (reason: string, message: string) => ({ is: "failed", reason, message });
const log = () => readFile(join(directory, "logs/uid-w/id-one.log"), "utf8").catch(() => "");
const containers = async () =>
  (await engine.docker("ps", "-a", "--format", "{{.Names}}")).out.split("\n").filter(Boolean);
const up = () => expect.poll(log).toContain(" up\n");

test("an action that ends well has succeeded; its container stays until it is discarded, its output for good", async () => {
  const docker = await open();
  const one = shell("echo out; echo err >&2; echo $COLOR", { env: { COLOR: "red" } });
  expect(await carryOut(one, docker)).toEqual({ is: "succeeded" });
  expect(await containers()).toEqual(["tinkerbell_one_id-one"]);
  await docker.discard(one);
  expect(await containers()).toEqual([]);
  expect(await log()).toMatch(/stdout F out\n/);
  expect(await log()).toMatch(/stderr F err\n/);
  expect(await log()).toMatch(/stdout F red\n/);
});

test.each<readonly [string, string, Ending]>([
  ["a code", "echo bad >&2; exit 3", { is: "failed", reason: "NonZeroExit", message: "exit code 3: bad" }],
  [
    "its own words",
    "echo DiskMissing > /tinkerbell/failure-reason; printf 'no /dev/sda\\nat all\\n' > /tinkerbell/failure-message; exit 1",
    { is: "failed", reason: "DiskMissing", message: "no /dev/sda\\nat all" },
  ],
  [
    "a word that is none",
    "echo 'Disk Full!' > /tinkerbell/failure-reason; exit 1",
    { is: "failed", reason: "InvalidReason", message: "Disk Full!: exit code 1" },
  ],
])("an action that fails with %s says so", async (_what, script, ending) => {
  expect(await carryOut(shell(script))).toEqual(ending);
});

test("what the engine refuses fails the action with the engine's words", async () => {
  expect(await carryOut(shell("", { volumes: ["a:b:c:d"] }))).toMatchObject({ reason: "ContainerCreateFailed" });
  expect(await carryOut(shell("", { volumes: ["./relative/path:/x"] }))).toMatchObject({
    reason: "ContainerCreateFailed",
  });
  expect(await carryOut(shell("", { cmd: "/no/such/program" }))).toMatchObject({ reason: "CommandNotFound" });
  const removed = { ...shell("", { cmd: "/tmp" }), attempt: 2 };
  expect(await carryOut(removed)).toMatchObject({ reason: "ContainerStartFailed" });
});

test("volumes and namespaces are those that were asked for", async () => {
  await writeFile(join(directory, "file"), "from the host\n");
  const one = shell("cat /given; readlink /proc/self/ns/pid", {
    volumes: [`${join(directory, "file")}:/given:ro`],
    pid: "host",
  });
  expect(await carryOut(one)).toEqual({ is: "succeeded" });
  expect(await log()).toContain("from the host");
  expect(await log()).toContain(await readlink("/proc/self/ns/pid"));
});

test("an agent that begins anew finds the container that runs, with all its output, and the one that has ended", async () => {
  const one = shell("echo up; while [ ! -e /go/now ]; do sleep 0.05; done; echo down; exit 5", {
    volumes: [`${directory}:/go`],
  });
  const first = await open();
  const prepared = await first.prepare(one, never);
  if (prepared.is !== "prepared") throw new Error(prepared.message);
  void first.run(one, prepared.handle).catch(() => undefined);
  await up();
  const second = await open();
  await second.sweep(one);
  expect(await second.isGone(one, prepared.handle)).toBe(false);
  const ending = second.run(one, prepared.handle);
  await writeFile(join(directory, "now"), "");
  expect(await ending).toEqual(failure("NonZeroExit", "exit code 5"));
  const third = await open();
  expect(await third.isGone(one, prepared.handle)).toBe(false);
  expect(await third.run(one, prepared.handle)).toEqual(failure("NonZeroExit", "exit code 5"));
  expect((await log()).match(/stdout F (?:up|down)/g)).toEqual(["stdout F up", "stdout F down"]);
  await third.sweep(undefined);
  expect(await third.isGone(one, prepared.handle)).toBe(true);
});

test("an engine that is killed is trouble that passes; what it says afterwards counts", async () => {
  const docker = await open();
  const one = shell("echo up; while :; do sleep 0.05; done");
  const prepared = await docker.prepare(one, never);
  if (prepared.is !== "prepared") throw new Error(prepared.message);
  const watched = docker.run(one, prepared.handle).catch(() => "not known");
  await up();
  await engine.kill();
  expect(await watched).toBe("not known");
  await expect(docker.isGone(one, prepared.handle)).rejects.toMatchObject({ code: "engine-unreachable" });
  await engine.restart();
  expect(await docker.isGone(one, prepared.handle)).toBe(false);
  // It has ended with the engine. Whether the engine had written down by then that it ran is chance: then it is not started a second time, else it cannot be.
  const reason = expect.stringMatching(/^(?:NonZeroExit|ContainerStartFailed)$/);
  expect(await docker.run(one, prepared.handle)).toMatchObject({ is: "failed", reason });
});

test("a container that was made and not noted is adopted; one of an earlier attempt is replaced; a stranger's is not touched", async () => {
  const docker = await open();
  const one = shell("exit 0");
  const first = await docker.prepare(one, never);
  expect(await docker.prepare(one, never)).toEqual(first);
  const again = await docker.prepare({ ...one, attempt: 2 }, never);
  expect(again.is).toBe("prepared");
  expect(again).not.toEqual(first);
  await engine.clear();
  await engine.docker("create", "--network", "none", "--name", "tinkerbell_one_id-one", testImage, "true");
  expect(await docker.prepare(one, never)).toMatchObject({ reason: "ContainerCreateFailed" });
  await docker.discard(one);
  await docker.stop(one, 0);
  expect(await containers()).toEqual(["tinkerbell_one_id-one"]);
});

test("a stop asks, then kills; what was only prepared is never started", async () => {
  const docker = await open();
  const polite = shell("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done");
  const ended = carryOut(polite, docker);
  await up();
  await docker.stop(polite, 60_000);
  await ended;
  expect(await log()).toContain("asked");
  const deaf = { ...shell("trap '' TERM; echo deaf; while :; do sleep 0.05; done"), attempt: 2 };
  const second = carryOut(deaf, docker);
  await expect.poll(log).toContain("deaf");
  await docker.stop(deaf, 100);
  expect((await second).is).toBe("failed");
  const prepared = await docker.prepare(polite, never);
  await docker.stop(polite, 0);
  expect(prepared.is === "prepared" && (await docker.run(polite, prepared.handle))).toMatchObject({
    reason: "RuntimeError",
  });
});

test("images are fetched with the login of their registry; what cannot be fetched is used when it is here", async () => {
  const registry = await startRegistry(await readFile(engine.rootTar), "me", "secret");
  const image = `${registry.host}/group/tool:1`;
  try {
    const login = { server: registry.host, username: "me", password: "secret" };
    const one = shell("exit 0", { image });
    expect(await carryOut(one, await open({ pull: "always" }))).toMatchObject({ reason: "ImagePullFailed" });
    expect(await carryOut(one, await open({ pull: "always", login: { ...login, server: "other" } }))).toMatchObject({
      reason: "ImagePullFailed",
    });
    expect(await carryOut(one, await open({ pull: "missing", login }))).toEqual({ is: "succeeded" });
    expect(await carryOut({ ...one, attempt: 2 }, await open({ pull: "always", login }))).toEqual({ is: "succeeded" });
    await registry.close();
    expect(await carryOut({ ...one, attempt: 3 }, await open({ pull: "missing", login }))).toEqual({ is: "succeeded" });
    expect(await log()).not.toContain("the image that is here is used");
    expect(await carryOut({ ...one, attempt: 4 }, await open({ pull: "always", login }))).toEqual({ is: "succeeded" });
    expect(await log()).toContain("the image that is here is used");
  } finally {
    await registry.close();
    await engine.clear();
    await engine.docker("rmi", image);
  }
});

test("values that are named are not in the log nor in what is told, also where the log is written anew", async () => {
  const script = 'echo "it is $TOKEN${SLIPWAY_MASK_ENV}"; echo "no $TOKEN" > /tinkerbell/failure-message; exit 1';
  const one = shell(script, { env: { TOKEN: "correct-horse", SLIPWAY_MASK_ENV: "TOKEN" } });
  const runtime = await open();
  const prepared = await runtime.prepare(one, never);
  if (prepared.is !== "prepared") throw new Error(prepared.message);
  for (const time of ["attached", "read back"]) {
    expect(await runtime.run(one, prepared.handle), time).toEqual(failure("NonZeroExit", "no ***"));
    const kept = await log();
    expect(kept, time).toMatch(/ stdout F it is \*\*\*\n$/);
    expect(kept, time).not.toContain("correct-horse");
  }
});
