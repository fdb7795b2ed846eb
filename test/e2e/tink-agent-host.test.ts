import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { HostRuntime } from "#dialects/tinkerbell/agent/host-runtime.ts";
import { agentAction, agentWorkflow, execution } from "#dialects/tinkerbell/agent/testing/executions.ts";
import type { AgentAction, Ending, Execution } from "#dialects/tinkerbell/agent/work.ts";
import { createProcessRuntime, type Runtime } from "#kernel/runtimes/index.ts";
import { runnerBundle } from "#kernel/runtimes/testing/index.ts";

let directory: string;
let processes: Runtime;
let host: HostRuntime;

/** As an agent's process that begins: what an earlier one has left is in the directory. */
async function open(): Promise<void> {
  processes = createProcessRuntime({
    directory: join(directory, "runner"),
    runnerPath: await runnerBundle(),
    nodePath: process.execPath,
    clock: systemClock,
    log: silentLog,
    runnerIdle: 300,
  });
  const inherited = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home/somebody" };
  host = new HostRuntime({ processes, directory, inherited, clock: systemClock });
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-host-agent-"));
  await open();
});
afterEach(async () => {
  await processes.close({ stopTasks: 0 });
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

const shell = (script: string, more: Partial<AgentAction> = {}): Execution =>
  execution(agentWorkflow("w", agentAction("one", { cmd: "/bin/sh", args: ["-c", script], ...more })));

async function carryOut(one: Execution): Promise<Ending> {
  const prepared = await host.prepare(one);
  return prepared.is === "prepared" ? host.run(one, prepared.handle) : prepared;
}
const failure = (reason: string, message: string) => ({ is: "failed", reason, message });
const log = () => readFile(join(directory, "logs/uid-w/id-one.log"), "utf8");

test("an action that ends well has succeeded, and its output stays", async () => {
  const one = shell("echo out; pwd; echo $HOME $COLOR", { env: { COLOR: "red" } });
  expect(await carryOut(one)).toEqual({ is: "succeeded" });
  await host.discard(one);
  expect(await log()).toMatch(/stdout F out\n.*stdout F .*\/work\/.*\n.*stdout F \/home\/somebody red\n/s);
});

test.each<readonly [string, string, Ending]>([
  ["a code", "echo bad >&2; echo >&2; exit 3", { is: "failed", reason: "NonZeroExit", message: "exit code 3: bad" }],
  [
    "its own words",
    "echo DiskMissing > $TINKERBELL_FAILURE_REASON_FILE; echo no /dev/sda > $TINKERBELL_FAILURE_MESSAGE_FILE; exit 1",
    { is: "failed", reason: "DiskMissing", message: "no /dev/sda" },
  ],
  ["a signal", "kill -KILL $$", { is: "failed", reason: "NonZeroExit", message: "exit code 137" }],
  [
    "files that it has taken back",
    "echo A > $TINKERBELL_FAILURE_REASON_FILE; rm $TINKERBELL_FAILURE_REASON_FILE; exit 1",
    { is: "failed", reason: "NonZeroExit", message: "exit code 1" },
  ],
])("an action that fails with %s says so", async (_what, script, ending) => {
  expect(await carryOut(shell(script))).toEqual(ending);
});

test("without a command there is nothing to run; its first argument can be one; a program has to exist", async () => {
  const none = execution(agentWorkflow("w", agentAction("one")));
  expect(await carryOut(none)).toEqual(failure("RuntimeError", "the host runtime needs a command"));
  const first = execution(agentWorkflow("w2", agentAction("one", { args: ["/bin/sh", "-c", "exit 4"] })));
  expect(await carryOut(first)).toEqual(failure("NonZeroExit", "exit code 4"));
  const absent = execution(agentWorkflow("w3", agentAction("one", { cmd: "no-such-program" })));
  expect(await carryOut(absent)).toEqual(failure("CommandNotFound", "program no-such-program was not found"));
});

test("what only containers have is named in the log", async () => {
  expect(await carryOut(shell("exit 1", { volumes: ["/dev:/dev"], pid: "host" }))).toMatchObject({
    message: "exit code 1",
  });
  expect(await log()).toContain("the host runtime has no containers: volumes and namespaces are ignored");
});

test("an action runs once, however often it is asked for, and goes on without the agent", async () => {
  const one = shell(`echo ran >> ${join(directory, "runs")}; read line < ${join(directory, "go")}; exit 7`);
  execFileSync("sh", ["-c", `mkfifo ${join(directory, "go")}`]);
  const prepared = await host.prepare(one);
  if (prepared.is !== "prepared") throw new Error(prepared.message);
  void host.run(one, prepared.handle).catch(() => undefined);
  await expect.poll(() => readFile(join(directory, "runs"), "utf8").catch(() => "")).toBe("ran\n");
  await processes.close();
  await open();
  await host.sweep(one);
  expect(await host.isGone(one, prepared.handle)).toBe(false);
  const again = host.run(one, prepared.handle);
  await writeFile(join(directory, "go"), "now\n");
  expect(await again).toEqual(failure("NonZeroExit", "exit code 7"));
  expect(await host.run(one, prepared.handle)).toEqual(failure("NonZeroExit", "exit code 7"));
  expect(await readFile(join(directory, "runs"), "utf8")).toBe("ran\n");
});

test("a stop ends what listens to it by TERM, and what does not by KILL", async () => {
  const polite = shell("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done");
  const first = carryOut(polite);
  await expect.poll(() => log().catch(() => "")).toContain("up");
  await host.stop(polite, 60_000);
  expect(await first).toEqual({ is: "succeeded" });
  expect(await log()).toContain("asked");
  const deaf = { ...shell("trap '' TERM; echo deaf; while :; do sleep 0.05; done"), attempt: 2 };
  const second = carryOut(deaf);
  await expect.poll(log).toContain("deaf");
  await host.stop(deaf, 100);
  expect(await second).toEqual(failure("NonZeroExit", "exit code 137"));
  await host.stop(shell("never prepared", {}), 0);
});

test("what is swept is ended and forgotten; what is kept goes on", async () => {
  const kept = shell("sleep 60");
  const other = { ...shell("sleep 60"), attempt: 2 };
  const runs = [carryOut(kept), carryOut(other)];
  await expect.poll(async () => (await processes.list()).length).toBe(2);
  await host.sweep(kept);
  expect((await runs[1])?.is).toBe("failed");
  expect((await processes.list()).map(({ id }) => id)).toEqual(["uid-w/id-one/1"]);
  await host.stop(kept, 0);
});
