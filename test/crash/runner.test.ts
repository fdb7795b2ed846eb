import { lockOwner } from "#lib/base/index.node.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, watch } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readLogs } from "#kernel/streams/index.ts";
import type { Runtime, Task, TaskStatus } from "#kernel/runtimes/index.ts";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { runnerBundle, shellTask, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { outcomeOf } from "#kernel/runtimes/runtime.contract.ts";
import { within } from "#test/support/within.ts";

let ownerBundle: string;
let directory: string;
let runnerDirectory: string;
const owners = new Set<Owner>();

beforeAll(async () => {
  const bundles = await mkdtemp(join(tmpdir(), "slipway-owner-"));
  ownerBundle = join(bundles, "owner.mjs");
  const entry = fileURLToPath(new URL("./runner-owner.ts", import.meta.url));
  await build({ entryPoints: [entry], outfile: ownerBundle, bundle: true, format: "esm", platform: "node" });
  return () => rm(bundles, { recursive: true, force: true });
});

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-crash-"));
  runnerDirectory = join(directory, "runner");
  await mkdir(join(directory, "runs"));
});

afterEach(async () => {
  for (const owner of owners) owner.kill();
  owners.clear();
  const runtime = await testRuntime(directory);
  await runtime.close({ stopTasks: 0 });
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
});

/** A server process in a process group of its own, as the crash tests kill it: group and all. */
class Owner {
  readonly #child: ChildProcess;
  readonly heard: TaskStatus[] = [];
  readonly attached: Promise<void>;

  constructor(runnerPath: string) {
    this.#child = spawn(process.execPath, [ownerBundle, runnerDirectory, runnerPath], {
      detached: true,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.attached = new Promise((resolve) => {
      if (this.#child.stdout === null) return;
      createInterface({ input: this.#child.stdout }).on("line", (line) => {
        const value: unknown = JSON.parse(line);
        if (value === "attached") resolve();
        else this.heard.push(value as TaskStatus);
      });
    });
  }

  start(task: Task): void {
    this.#child.stdin?.write(`${JSON.stringify(task)}\n`);
  }

  /** SIGKILL to the whole group. */
  kill(): void {
    if (this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    process.kill(-this.#child.pid, "SIGKILL");
  }

  async killed(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.kill();
    await gone;
  }
}

async function newOwner(): Promise<Owner> {
  const owner = new Owner(await runnerBundle());
  owners.add(owner);
  await within(60_000, "the owner has attached to the runner", owner.attached);
  return owner;
}

/** Appends a line to its file when it runs, waits for its gate, and exits with the code. */
const countedTask = (id: string, code: number): Task =>
  shellTask(
    directory,
    id,
    `echo run >> ${directory}/runs/${id}; while [ ! -e ${directory}/gate ]; do sleep 0.02; done; echo done; exit ${code}`,
  );

const runsOf = async (id: string): Promise<number> =>
  (await readFile(join(directory, "runs", id), "utf8").catch(() => "")).split("\n").length - 1;

/** Resolves when `condition` holds; looked at whenever something in the directory of runs changes. */
async function whenRuns(condition: () => Promise<boolean>): Promise<void> {
  const watcher = watch(join(directory, "runs"));
  try {
    for (;;) {
      const changed = once(watcher, "change");
      if (await condition()) return;
      await within(120_000, "something changes in the directory of runs", changed, () =>
        readdirSync(join(directory, "runs")),
      );
    }
  } finally {
    watcher.close();
  }
}

/** Resolves when the runtime says anything of one of these tasks. */
const firstNewsOf = (runtime: Runtime, ids: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    const cancel = runtime.subscribe((status) => {
      if (!ids.includes(status.id)) return;
      cancel();
      resolve();
    });
  });

const openGate = () => mkdir(join(directory, "gate"));

async function runnerPid(): Promise<number> {
  const holder = await lockOwner(runnerPaths(runnerDirectory).lock);
  if (holder === undefined) throw new Error("nobody has the lock");
  return holder.pid;
}

async function codesOf(runtime: Runtime, ids: readonly string[]): Promise<readonly unknown[]> {
  const outcomes = await Promise.all(ids.map((id) => outcomeOf(runtime, id)));
  return outcomes.map((outcome) => (outcome.kind === "exited" ? outcome.code : outcome.kind));
}

test("tasks outlive a killed server, and the next one learns their exit codes", async () => {
  const owner = await newOwner();
  const ids = Array.from({ length: 8 }, (_, index) => `task-${index}`);
  ids.forEach((id, index) => owner.start(countedTask(id, index)));
  await whenRuns(async () => (await Promise.all(ids.map(runsOf))).every((runs) => runs === 1));
  await owner.killed();
  await openGate();
  const runtime = await testRuntime(directory);
  expect(await codesOf(runtime, ids)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(await Promise.all(ids.map(runsOf))).toEqual(ids.map(() => 1));
  await runtime.close();
});

test("a server killed at any moment of starting, then one that starts all again: nothing runs twice or is missing", async () => {
  await openGate();
  for (let round = 0; round < 20; round++) {
    const ids = Array.from({ length: 10 }, (_, index) => `round-${round}-${index}`);
    const owner = await newOwner();
    for (const id of ids) owner.start(countedTask(id, 0));
    // Wherever the first of them has just come, the others stand at every stage before it.
    await whenRuns(async () => (await runsOf(ids[round % 10] ?? "")) > 0);
    await owner.killed();
    const runtime = await testRuntime(directory);
    await Promise.all(ids.map((id) => runtime.start(countedTask(id, 0))));
    expect(await codesOf(runtime, ids)).toEqual(ids.map(() => 0));
    expect(await Promise.all(ids.map(runsOf))).toEqual(ids.map(() => 1));
    await runtime.close();
  }
});

test("exits that happen while no server lives are kept by a runner that has gone to rest", async () => {
  const owner = await newOwner();
  owner.start(countedTask("task", 5));
  await whenRuns(async () => (await runsOf("task")) === 1);
  const runner = await runnerPid();
  await owner.killed();
  await openGate();
  await gone(runner);
  const runtime = await testRuntime(directory);
  expect(await codesOf(runtime, ["task"])).toEqual([5]);
  expect((await runtime.start(countedTask("task", 5))).state.phase).toBe("ended");
  expect(await runsOf("task")).toBe(1);
  await runtime.close();
});

/** Its first process, which leads its group. */
function supervisorOf(runtime: Runtime, id: string): number {
  const state = runtime.find(id)?.state;
  if (state?.phase !== "running" || state.pid === undefined) throw new Error(`${id} does not run`);
  return state.pid;
}

async function outputOf({ logPath }: Task): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(logPath)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** Kills the runner, and waits until the next one is attached. */
async function replaceRunner(runtime: Runtime): Promise<void> {
  const former = await runnerPid();
  process.kill(former, "SIGKILL");
  await gone(former);
  await runtime.stop("nobody", 0);
  expect(await runnerPid()).not.toBe(former);
}

test("a program outlives its runner: the next one has its output and its exit code, and it ran once", async () => {
  const runtime = await testRuntime(directory);
  const task = shellTask(
    directory,
    "task",
    `echo run >> ${directory}/runs/task; seq 1 20000; while [ ! -e ${directory}/gate ]; do sleep 0.02; done; seq 20001 40000; echo last >&2; exit 7`,
  );
  await runtime.start(task);
  await expect.poll(() => outputOf(task)).toContain("\n20000\n");
  const supervisor = supervisorOf(runtime, "task");
  await replaceRunner(runtime);
  await replaceRunner(runtime);
  expect(supervisorOf(runtime, "task")).toBe(supervisor);
  await openGate();
  expect(await outcomeOf(runtime, "task")).toMatchObject({ kind: "exited", code: 7 });
  const lines = (await outputOf(task)).split("\n").filter((line) => line !== "last" && line !== "");
  expect(lines).toEqual(Array.from({ length: 40_000 }, (_, index) => `${index + 1}`));
  expect(await runsOf("task")).toBe(1);
  expect((await runtime.start(task)).state.phase).toBe("ended");
  expect(await runsOf("task")).toBe(1);
  await runtime.close();
});

test("a program that ends while no runner lives has its exit code, its output and its last word, without the masked values", async () => {
  const owner = await newOwner();
  const message = join(directory, "word");
  const script = `echo "$$" > ${directory}/pid; echo run >> ${directory}/runs/task; while [ ! -e ${directory}/gate ]; do sleep 0.02; done; echo "it is $SECRET"; echo "$SECRET" > ${message}.raw; exit 7`;
  const env = { PATH: "/usr/bin:/bin", SECRET: "s3cret-value" };
  const task = shellTask(directory, "task", script, { env, maskedVariables: ["SECRET"], message });
  owner.start(task);
  await whenRuns(async () => (await runsOf("task")) === 1);
  const runner = await runnerPid();
  await owner.killed();
  process.kill(runner, "SIGKILL");
  await gone(runner);
  await openGate();
  await gone(Number(await readFile(join(directory, "pid"), "utf8")));
  const runtime = await testRuntime(directory);
  expect(await codesOf(runtime, ["task"])).toEqual([7]);
  expect(await outputOf(task)).toBe("it is ***\n");
  expect(await readFile(message, "utf8")).toBe("***\n");
  expect(await runsOf("task")).toBe(1);
  const journal = await readFile(runnerPaths(runnerDirectory).journal, "utf8");
  expect(journal).not.toContain("s3cret");
  await runtime.close();
});

test("a stop reaches an adopted task, also one that was asked for before the runner was killed", async () => {
  const runtime = await testRuntime(directory);
  const deaf = (id: string) =>
    shellTask(
      directory,
      id,
      `trap 'echo heard' TERM; echo run >> ${directory}/runs/${id}; while :; do sleep 0.02; done`,
    );
  await runtime.start(countedTask("polite", 0));
  await runtime.start(deaf("deaf"));
  await runtime.start(deaf("killed"));
  await whenRuns(async () => (await Promise.all(["polite", "deaf", "killed"].map(runsOf))).every((runs) => runs === 1));
  await runtime.stop("deaf", 1_000);
  await replaceRunner(runtime);
  await runtime.stop("polite", 60_000);
  await runtime.stop("killed", 0);
  expect(await outcomeOf(runtime, "polite")).toMatchObject({ code: 143, signal: "SIGTERM" });
  expect(await outcomeOf(runtime, "killed")).toMatchObject({ code: 137, signal: "SIGKILL" });
  expect(await outcomeOf(runtime, "deaf")).toMatchObject({ code: 137, signal: "SIGKILL" });
  await runtime.close();
});

test("a task whose supervisor was killed with the runner is lost, killed and not run again, and new ones run", async () => {
  const runtime = await testRuntime(directory);
  const task = shellTask(
    directory,
    "task",
    `echo "$$" > ${directory}/pid; echo run >> ${directory}/runs/task; while [ ! -e ${directory}/gate ]; do sleep 0.02; done`,
  );
  await runtime.start(task);
  await whenRuns(async () => (await runsOf("task")) === 1);
  const supervisor = supervisorOf(runtime, "task");
  const runner = await runnerPid();
  // Halted first, so that the runner does not hear of the supervisor's end.
  process.kill(runner, "SIGSTOP");
  process.kill(supervisor, "SIGKILL");
  await gone(supervisor);
  process.kill(runner, "SIGKILL");
  const outcome = await outcomeOf(runtime, "task");
  expect(outcome).toMatchObject({
    kind: "lost",
    message: "the runner process ended while it ran; its exit code is unknown",
  });
  await gone(Number(await readFile(join(directory, "pid"), "utf8")));
  await openGate();
  expect((await runtime.start(countedTask("task", 0))).state.phase).toBe("ended");
  await runtime.start(countedTask("next", 7));
  expect(await codesOf(runtime, ["next"])).toEqual([7]);
  expect(await runsOf("task")).toBe(1);
  await runtime.close();
});

test("a runner killed again and again while tasks start: every task runs at most once and every one gets an end", async () => {
  await openGate();
  const runtime = await testRuntime(directory);
  const ids = Array.from({ length: 60 }, (_, index) => `task-${index}`);
  for (let from = 0; from < ids.length; from += 10) {
    const group = ids.slice(from, from + 10);
    const started = Promise.all(group.map((id) => runtime.start(countedTask(id, 0))));
    await Promise.race([firstNewsOf(runtime, group), whenRuns(async () => (await runsOf(group[0] ?? "")) > 0)]);
    process.kill(await runnerPid(), "SIGKILL");
    await started;
  }
  const codes = await codesOf(runtime, ids);
  const runs = await Promise.all(ids.map(runsOf));
  expect(codes.every((code) => code === 0 || code === "lost")).toBe(true);
  expect(runs.every((count, index) => count === 1 || (count === 0 && codes[index] === "lost"))).toBe(true);
  await runtime.close();
});

test("the newest server owns the runner; the former is told and lets go", async () => {
  const first = await testRuntime(directory);
  await first.start(countedTask("task", 3));
  const second = await testRuntime(directory);
  await second.list();
  await openGate();
  expect(await codesOf(second, ["task"])).toEqual([3]);
  await expect(first.stop("task", 0)).rejects.toMatchObject({ code: "runner-taken" });
  await second.close();
});

test("a runner without owner and tasks ends by itself, also at once when it is released", async () => {
  const runtime = await testRuntime(directory, { runnerIdle: 600_000 });
  // The first question that only a runner can answer has it started.
  await runtime.capabilities();
  const runner = await runnerPid();
  await runtime.close();
  await gone(runner);
});

/**
 * Resolves when a process that is not our child has ended. The kernel tells of no stranger's end, so it is asked. A first thread that has ended
 * is a zombie while others of its process still end, and hold its pipes open: what is written to them is lost.
 */
async function gone(pid: number): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
    if (stat === "" || (stat.includes(") Z ") && threads.length <= 1)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
