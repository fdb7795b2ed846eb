import { access, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLogs } from "#kernel/streams/index.ts";
import type { Runtime, Task, TaskOutcome } from "#kernel/runtimes/index.ts";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { identityOf, isAlive, lockOwner } from "#lib/base/index.node.ts";
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
    passes: async () => undefined,
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

async function isRunning(pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat !== "" && !stat.includes(") Z ");
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
  // It has been killed by now, and has ended when the kernel has come to it.
  await expect.poll(() => isRunning(output.trim())).toBe(false);
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

test.each([
  ["exit 0", 0, undefined],
  ["exit 255", 255, undefined],
  ["exit 130", 130, undefined],
  ["kill -TERM $$", 143, "SIGTERM"],
  ["kill -KILL $$", 137, "SIGKILL"],
  ["kill -ABRT $$", 134, "SIGABRT"],
  ["kill -USR1 $$", 138, "SIGUSR1"],
  ["kill -PIPE $$", 141, "SIGPIPE"],
])("%j ends with %d", async (script, code, signal) => {
  const { outcome } = await run(script);
  expect(outcome).toMatchObject({ kind: "exited", code });
  expect(outcome.kind === "exited" ? outcome.signal : "none").toBe(signal);
});

test("a script whose interpreter is missing is a program that was not found", async () => {
  const script = join(directory.path, "orphan");
  await writeFile(script, "#!/no/such/interpreter\n", { mode: 0o755 });
  expect((await run("", { command: [script] })).outcome).toMatchObject({
    kind: "not-started",
    code: 127,
    message: `program ${script} was not found`,
  });
});

test("a working directory that is a file is named", async () => {
  await writeFile(join(directory.path, "plain"), "text");
  expect((await run("true", { workingDirectory: join(directory.path, "plain") })).outcome).toMatchObject({
    kind: "not-started",
    code: 126,
    message: `working directory ${join(directory.path, "plain")} is not a directory`,
  });
});

test.each([
  [{ command: ["/bin/echo", "first", "s3cret\0rest"] as [string, ...string[]] }, "argument 2 holds a zero byte"],
  [{ command: ["/bin/s3cret\0"] as [string, ...string[]] }, "the program's name holds a zero byte"],
  [{ env: { TOKEN: "s3cret\0rest" } }, "variable TOKEN holds a zero byte"],
  [{ workingDirectory: "/s3cret\0" }, "the working directory holds a zero byte"],
])("what no program can be given is told without quoting it: %#", async (more, message) => {
  const { outcome } = await run("true", more);
  expect(outcome).toMatchObject({ kind: "not-started", code: 128, message });
  const journal = await readFile(runnerPaths(join(directory.path, "runner")).journal, "utf8");
  expect(JSON.stringify(outcome) + journal).not.toContain("s3cret");
});

test("more environment than the kernel takes is an outcome, and a long name is not repeated whole", async () => {
  const { outcome } = await run("true", { env: { LONG: "x".repeat(4 * 1024 * 1024) } });
  expect(outcome).toMatchObject({ kind: "not-started", message: expect.stringContaining("E2BIG") });
  const long = await run("", { command: [`/${"x".repeat(100_000)}`] });
  expect(JSON.stringify(long.outcome).length).toBeLessThan(2_000);
});

test("a task reads nothing from us, and no descriptor of ours is open in it", async () => {
  const { output } = await run("cat; ls -l /proc/self/fd");
  expect(output).toMatch(/ 0 -> \/dev\/null$/m);
  // What whoever started us has left open is in every one of its descendants; the journal, the socket and the pipes are ours.
  expect(output).not.toContain(join(directory.path, "runner", "journal"));
  expect(output).not.toContain("socket:");
  expect(output.match(/runner\/pipes\//g)).toHaveLength(2);
});

test("a task has a session of its own, led by its supervisor, so that nothing typed at a terminal reaches it", async () => {
  const { output } = await run("ps -o ppid=,pgid=,sid= -p $$");
  const [supervisor, group, session] = output.trim().split(/\s+/);
  expect(group).toBe(supervisor);
  expect(session).toBe(supervisor);
});

test("a program gets its arguments and its environment as they are, whatever they mean to its supervisor", async () => {
  const env = {
    PATH: "/bin",
    "not.a-name": "1",
    PERL5OPT: "-MNo::Such::Module",
    LANG: "xx_XX.nowhere",
    PWD: "/elsewhere",
    N: "9",
    EMPTY: "",
    ÜMLAUT: "a\nb=ü",
  };
  const task: Task = { ...shellTask(directory.path, "exact/main/0", ""), command: ["env", "-0"], env };
  await runtime.start(task);
  expect(await outcomeOf(runtime, task.id)).toMatchObject({ code: 0 });
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(task.logPath)) pieces.push(piece);
  const variables = Buffer.concat(pieces).toString().split("\0").slice(0, -1);
  expect(variables.sort()).toEqual(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  );
  const words = ["-n", "--", "", "a b", "$x 'y'", "ü\n"];
  const { output } = await run("", { command: ["/bin/sh", "-c", 'printf "[%s]" "$0" "$@"', ...words] });
  expect(output).toBe(words.map((word) => `[${word}]`).join(""));
});

test("a program that kills its parent is killed itself, and no other task notices", async () => {
  const gate = join(directory.path, "other-gate");
  const other = shellTask(directory.path, "other/main/0", `while [ ! -e ${gate} ]; do sleep 0.05; done; exit 7`);
  await runtime.start(other);
  const before = await lockOwner(runnerPaths(join(directory.path, "runner")).lock);
  const { outcome, output } = await run("echo $$; kill -9 $PPID; sleep 3600");
  expect(outcome).toMatchObject({ kind: "exited", code: 137, signal: "SIGKILL" });
  await expect.poll(() => isRunning(output.trim())).toBe(false);
  await writeFile(gate, "");
  expect(await outcomeOf(runtime, other.id)).toMatchObject({ kind: "exited", code: 7 });
  expect(await lockOwner(runnerPaths(join(directory.path, "runner")).lock)).toEqual(before);
});

test("a program that signals its own group ends as it says itself", async () => {
  expect((await run("trap 'exit 5' TERM; kill 0; sleep 3600")).outcome).toMatchObject({ kind: "exited", code: 5 });
  expect((await run("kill -KILL 0")).outcome).toMatchObject({ kind: "exited", code: 137, signal: "SIGKILL" });
});

test("the creation mask is the server's, and signals are not ignored", async () => {
  const { output } = await run("umask; grep SigIgn /proc/self/status");
  const [mask, ignored] = output.trim().split("\n");
  expect(Number.parseInt(mask ?? "", 8)).toBe(process.umask());
  // SIGINT (2), SIGTERM (15) and SIGHUP (1): whoever is asked to end must be able to.
  const bits = BigInt(`0x${ignored?.split(/\s+/)[1] ?? "0"}`);
  for (const signal of [1n, 2n, 15n]) expect((bits >> (signal - 1n)) & 1n).toBe(0n);
});

test("both outputs of a busy task keep their own order, and are whole", async () => {
  const { output } = await run(
    "i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; echo last",
  );
  const lines = output.trimEnd().split("\n");
  for (const stream of ["out", "err"]) {
    const own = lines.filter((line) => line.startsWith(stream));
    expect(own).toEqual(Array.from({ length: 2_000 }, (_, index) => `${stream} ${index}`));
  }
  expect(lines).toHaveLength(4_001);
});

test("output that is not text comes back byte for byte", async () => {
  const task = shellTask(directory.path, "binary/main/0", "printf '\\000\\377\\r\\n\\033[1m\\n\\n'");
  await runtime.start(task);
  await outcomeOf(runtime, task.id);
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(task.logPath)) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(Buffer.from([0, 255, 13, 10, 27, 91, 49, 109, 10, 10]));
});

test("a task that was halted is let go on when it is asked to end", async () => {
  const task = shellTask(directory.path, "halted/main/0", "echo $$ >&2; kill -STOP $$; while :; do sleep 0.05; done");
  await runtime.start(task);
  const log = () => readFile(task.logPath, "utf8").catch(() => "");
  await expect.poll(log).toMatch(/ \d+\n$/);
  const pid = (await log()).trim().split(" ").at(-1);
  await expect.poll(() => readFile(`/proc/${pid}/stat`, "utf8")).toContain(") T ");
  await runtime.stop(task.id, 60_000);
  expect(await outcomeOf(runtime, task.id)).toMatchObject({ code: 143, signal: "SIGTERM" });
});

test("TERM reaches every process of the task", async () => {
  const file = join(directory.path, "heard");
  const child = `(trap 'echo child >> ${file}; exit' TERM; echo child up; while :; do sleep 0.05; done)`;
  const script = `${child} & trap 'wait; echo parent >> ${file}; exit 7' TERM; echo parent up; while :; do sleep 0.05; done`;
  const task = shellTask(directory.path, "family/main/0", script);
  await runtime.start(task);
  // Whoever has no trap yet would end without a word.
  for (const who of ["child", "parent"])
    await expect.poll(() => readFile(task.logPath, "utf8").catch(() => "")).toContain(`${who} up`);
  await runtime.stop(task.id, 60_000);
  expect(await outcomeOf(runtime, task.id)).toMatchObject({ kind: "exited", code: 7 });
  expect(await readFile(file, "utf8")).toBe("child\nparent\n");
});

test("a log is rotated as its task says", async () => {
  const { output } = await run("seq 1 400000", { logRotation: { maxBytes: 100_000, maxFiles: 2 } });
  expect(output.endsWith("\n400000\n")).toBe(true);
  expect(output.startsWith("1\n")).toBe(false);
});

test("a log whose directory cannot be made is a note on the outcome, and the task runs to its end", async () => {
  await writeFile(join(directory.path, "no-directory"), "");
  const logPath = join(directory.path, "no-directory", "0.log");
  const task = shellTask(directory.path, "mute/main/0", "seq 1 100000; exit 3", { logPath });
  await runtime.start(task);
  expect(await outcomeOf(runtime, task.id)).toMatchObject({
    kind: "exited",
    code: 3,
    note: expect.stringContaining("output is incomplete: "),
  });
});

test("more tasks at once than there were pipes get pipes of their own", async () => {
  const gate = join(directory.path, "gate");
  const ids = Array.from({ length: 40 }, (_, index) => `crowd-${index}/main/0`);
  const tasks = ids.map((id) =>
    shellTask(directory.path, id, `echo ${id}; while [ ! -e ${gate} ]; do sleep 0.05; done; echo ${id}`),
  );
  await Promise.all(tasks.map((task) => runtime.start(task)));
  await writeFile(gate, "");
  await Promise.all(ids.map((id) => outcomeOf(runtime, id)));
  for (const { id, logPath } of tasks) {
    const pieces: Uint8Array[] = [];
    for await (const piece of readLogs(logPath)) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe(`${id}\n${id}\n`);
  }
});

test("a program whose name looks like the kernel's own columns is told from others", async () => {
  const name = join(directory.path, "x) Z 1 2 (y");
  await copyFile("/bin/sleep", name);
  const task = { ...shellTask(directory.path, "named/main/0", ""), command: [name, "3600"] as [string, ...string[]] };
  const { state } = await runtime.start(task);
  const pid = state.phase === "running" ? (state.pid ?? 0) : 0;
  const identity = identityOf(pid);
  expect(isAlive(identity)).toBe(true);
  expect(Number(identity.startTicks)).toBeGreaterThan(Number(identityOf(1).startTicks));
  await runtime.stop(task.id, 0);
  await outcomeOf(runtime, task.id);
  expect(isAlive(identity)).toBe(false);
});

describe.skipIf(process.getuid?.() !== 0)("as root", () => {
  test("a task runs as its user, with that one group and no other", async () => {
    const { output } = await run("id -u; id -g; id -G", { user: { uid: 4_321, gid: 1_234 }, workingDirectory: "/" });
    expect(output).toBe("4321\n1234\n1234\n");
  });

  test("another user's task may print, but not read the runner's files", async () => {
    const journal = runnerPaths(join(directory.path, "runner")).journal;
    const { output } = await run(`echo heard > /dev/stdout; cat ${journal} || echo closed`, {
      user: { uid: 4_321, gid: 1_234 },
      workingDirectory: "/",
    });
    expect(output).toContain("heard\n");
    expect(output).toContain("closed\n");
  });

  test("the working directory is entered before the task becomes its user", async () => {
    const { outcome } = await run("true", { user: { uid: 4_321, gid: 1_234 } });
    expect(outcome).toMatchObject({ kind: "exited", code: 0 });
  });
});

/** A task with a value that is not to be told, whose last word goes to `message`. */
const discreet = (message: string) => ({
  env: { PATH: "/usr/bin:/bin", SECRET: "s3cret-value" },
  maskedVariables: ["SECRET"],
  message,
});

test("the last word of a task is read without the values that are kept out of its log", async () => {
  const message = join(directory.path, "word");
  const { outcome, output } = await run(`echo "it is $SECRET" | tee ${message}.raw`, discreet(message));
  expect(outcome).toMatchObject({ kind: "exited", code: 0 });
  expect([output, await readFile(message, "utf8")]).toEqual(["it is ***\n", "it is ***\n"]);
  await expect(access(`${message}.raw`)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a last word that cannot be put where it is read is a note on the outcome", async () => {
  const message = join(directory.path, "no-word");
  await mkdir(join(message, "in the way"), { recursive: true });
  const { outcome } = await run(`echo "$SECRET" > ${message}.raw`, discreet(message));
  expect(outcome).toMatchObject({ code: 0, note: expect.stringMatching(/^its last word is left out: E[A-Z]+$/) });
});

test("of a task that is lost there is no last word to read: nobody knows its values", async () => {
  const own = await temporaryDirectory();
  const other = await testRuntime(own.path);
  const message = join(own.path, "word");
  const script = `echo "it is $SECRET" > ${message}.raw; echo up; sleep 3600`;
  const task = shellTask(own.path, "lost/main/0", script, discreet(message));
  const { state } = await other.start(task);
  await expect.poll(() => readFile(task.logPath, "utf8").catch(() => "")).toContain("up");
  const { pid } = (await lockOwner(runnerPaths(join(own.path, "runner")).lock)) ?? { pid: 0 };
  expect(pid).toBeGreaterThan(1);
  process.kill(pid, "SIGKILL");
  if (state.phase === "running" && state.pid !== undefined) process.kill(state.pid, "SIGKILL");
  expect(await outcomeOf(other, task.id)).toMatchObject({ kind: "lost" });
  await expect(access(message)).rejects.toMatchObject({ code: "ENOENT" });
  await other.close({ stopTasks: 0 });
  await own.remove();
});

test("a data directory of any length has a usable socket", async () => {
  const deep = join(directory.path, "d".repeat(120));
  const other = await testRuntime(deep);
  await other.start(shellTask(directory.path, "deep/main/0", "exit 4"));
  expect(await outcomeOf(other, "deep/main/0")).toMatchObject({ code: 4 });
  await other.close();
});
