import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readLogs } from "#kernel/logs/index.ts";
import type { Runtime, Task, TaskOutcome } from "#kernel/runtimes/index.ts";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { outcomeOf, runtimeContract } from "#kernel/runtimes/runtime.contract.ts";
import { shellTask, temporaryDirectory, testRuntime } from "#kernel/runtimes/testing/index.ts";

runtimeContract("process", async () => {
  const directory = await temporaryDirectory();
  const runtime = await testRuntime(directory.path);
  const counter = (id: string) => join(directory.path, `${id.replaceAll("/", "_")}.count`);
  const script = (id: string, text: string) => shellTask(directory.path, id, `echo run >> ${counter(id)}; ${text}`);
  return {
    runtime,
    exits: (id, code, text = "") => script(id, `printf '%s' '${text}'; exit ${code}`),
    waits: (id) => script(id, "exec sleep 3600"),
    ignoresTerm: (id) =>
      shellTask(directory.path, id, `trap '' TERM; echo run >> ${counter(id)}; while true; do sleep 3600; done`),
    runsOf: async (id) => (await readFile(counter(id), "utf8").catch(() => "")).split("\n").length - 1,
    close: async () => {
      await runtime.close({ stopTasks: 0 });
      await directory.remove();
    },
  };
});

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let runtime: Runtime;
beforeAll(async () => {
  directory = await temporaryDirectory();
  runtime = await testRuntime(directory.path);
});
afterAll(async () => {
  await runtime.close({ stopTasks: 0 });
  await directory.remove();
});

let tasks = 0;

async function run(script: string, more: Partial<Task> = {}): Promise<{ outcome: TaskOutcome; output: string }> {
  const task = shellTask(directory.path, `t${tasks++}/main/0`, script, more);
  await runtime.start(task);
  const outcome = await outcomeOf(runtime, task.id);
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(task.logPath)) pieces.push(piece);
  return { outcome, output: Buffer.concat(pieces).toString() };
}

test("a task sees its own environment and nothing else", async () => {
  const { output } = await run("/usr/bin/env | sort", { env: { PATH: "/bin", SECRET: "s3cret" } });
  expect(output.split("\n").filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual([
    "PATH=/bin",
    "SECRET=s3cret",
    "",
  ]);
});

test("neither commands nor environments are written to the runner's files", async () => {
  await run("true # visible-command", { env: { PATH: "/bin", SECRET: "s3cret-value" } });
  const journal = await readFile(runnerPaths(join(directory.path, "runner")).journal, "utf8");
  expect(journal).not.toMatch(/s3cret-value|visible-command/);
});

test("scripts may open /dev/stdout and /dev/stderr", async () => {
  const { output, outcome } = await run("echo one > /dev/stdout; echo two > /dev/stderr");
  expect(outcome).toMatchObject({ code: 0 });
  expect(output.split("\n").sort()).toEqual(["", "one", "two"]);
});

test("a program that is not there reads as 127, one that may not be run as 126", async () => {
  expect((await run("", { command: ["no-such-program"] })).outcome).toMatchObject({
    kind: "not-started",
    code: 127,
    message: "program no-such-program was not found",
  });
  await writeFile(join(directory.path, "plain"), "text", { mode: 0o644 });
  expect((await run("", { command: [join(directory.path, "plain")] })).outcome).toMatchObject({
    kind: "not-started",
    code: 126,
  });
});

test("a missing working directory is named", async () => {
  expect((await run("true", { workingDirectory: "/no/such/place" })).outcome).toMatchObject({
    kind: "not-started",
    message: "working directory /no/such/place does not exist",
  });
});

test("a task that dies by a signal says which", async () => {
  expect((await run("kill -SEGV $$")).outcome).toMatchObject({ kind: "exited", code: 139, signal: "SIGSEGV" });
});

test("what a task leaves behind in its group ends with it", async () => {
  const { output, outcome } = await run("sleep 3600 & echo $!");
  expect(outcome).toMatchObject({ code: 0 });
  const alive = await readFile(`/proc/${output.trim()}/stat`, "utf8").catch(() => "gone");
  expect(alive === "gone" || alive.includes(") Z ")).toBe(true);
});

test("what leaves the group does not hold back the end", async () => {
  const { outcome, output } = await run("setsid sleep 3 & echo started");
  expect(outcome).toMatchObject({ code: 0 });
  expect(output).toBe("started\n");
});

test("output of many megabytes arrives whole", async () => {
  const { output } = await run("head -c 30000000 /dev/zero | tr '\\0' 'x'; echo; seq 1 200000");
  const lines = output.split("\n");
  expect(lines[0]?.length).toBe(30_000_000);
  expect(lines.length).toBe(200_002);
  expect(lines.at(-2)).toBe("200000");
});

test("fifty tasks at once are all told", async () => {
  const ended = await Promise.all(Array.from({ length: 50 }, (_, index) => run(`exit ${index}`)));
  expect(ended.map(({ outcome }) => (outcome.kind === "exited" ? outcome.code : -1))).toEqual(
    Array.from({ length: 50 }, (_, index) => index),
  );
});

test("a data directory of any length has a usable socket", async () => {
  const deep = join(directory.path, "d".repeat(120));
  const other = await testRuntime(deep);
  await other.start(shellTask(directory.path, "deep/main/0", "exit 4"));
  expect(await outcomeOf(other, "deep/main/0")).toMatchObject({ code: 4 });
  await other.close();
});
