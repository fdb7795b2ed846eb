import { access, mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { LogWriter } from "#kernel/streams/index.ts";
import type { Runtime, RuntimeCapabilities, Task, TaskOutcome, TaskStatus } from "../contract.ts";
import { outcomeOf, runtimeContract } from "../runtime.contract.ts";
import { FakeProcesses, temporaryDirectory } from "../testing/index.ts";
import { runnerPaths } from "./paths.ts";
import { answerLimit, closingLimit } from "./patience.ts";
import { createProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
import { Journal } from "./runner/journal.ts";
import { RunnerServer } from "./runner/runner-server.ts";
import type { NoteBegun, TaskProcess } from "./runner/follow-task.ts";
import { TaskTable } from "./runner/task-table.ts";
import { encodeFrame, receiveFrames, type Request } from "./wire.ts";

// The runtime over its protocol, with a runner that lives in this very process: real sockets and a real journal, no processes.

const capabilities: RuntimeCapabilities = { images: false, mounts: { supported: true }, users: true, limits: false };

/** A runner whose death is the end of its connections and of all it had not written down. */
async function startRunner(
  directory: string,
  spawn: (task: Task, note: NoteBegun) => Promise<TaskProcess | TaskOutcome>,
) {
  const paths = runnerPaths(directory);
  await mkdir(directory, { recursive: true });
  const server = new RunnerServer({
    clock: systemClock,
    socketPath: paths.socket,
    idle: 600_000,
    capabilities: async () => capabilities,
  });
  const { journal, last } = await Journal.open(paths.journal);
  const onChange = (status: TaskStatus) => server.tell(status);
  const options = { clock: systemClock, spawn, onChange, onTrouble: () => undefined };
  const table = await TaskTable.open(options, { journal, last });
  await server.listen(table);
  return {
    server,
    async close() {
      await server.close();
      await journal.close();
    },
  };
}

const runtimeAt = (directory: string, options: Partial<ProcessRuntimeOptions> = {}): Runtime =>
  createProcessRuntime({
    directory,
    // Whoever is started in a runner's place ends at once with success, as a runner does that is not needed.
    runnerPath: "--version",
    nodePath: process.execPath,
    clock: systemClock,
    log: silentLog,
    ...options,
  });

runtimeContract("process over its protocol", async () => {
  const directory = await temporaryDirectory();
  const processes = new FakeProcesses();
  const clock = new FakeClock();
  const task = (id: string, ...command: [string, ...string[]]): Task => ({
    id,
    command,
    env: {},
    workingDirectory: "/",
    logPath: join(directory.path, `${id.replaceAll("/", "_")}.log`),
  });
  /** Does what the first word says: `exit CODE TEXT`, `wait`, `ignore`. */
  const spawn = async (one: Task, note: NoteBegun): Promise<TaskProcess | TaskOutcome> => {
    const process = await processes.spawn(one, note);
    if ("kind" in process) return process;
    const [verb, code, text = ""] = one.command;
    if (verb === "exit") {
      const log = new LogWriter(one.logPath, { clock });
      log.append("stdout", Buffer.from(text));
      await log.close();
      processes.exit(one.id, Number(code));
    }
    return { ...process, ended: process.ended.then((outcome) => ended(outcome)), signal: signalled(one, process) };
  };
  const ended = (outcome: TaskOutcome): TaskOutcome => {
    if (outcome.kind !== "exited" || (outcome.code !== 137 && outcome.code !== 143)) return outcome;
    return { ...outcome, signal: outcome.code === 137 ? "SIGKILL" : "SIGTERM" };
  };
  const signalled = (one: Task, process: TaskProcess) => (signal: NodeJS.Signals) => {
    process.signal(signal);
    if (signal === "SIGTERM" && one.command[0] !== "ignore") processes.exit(one.id, 143);
  };
  const path = join(directory.path, "runner");
  const runner = await startRunner(path, spawn);
  const runtime = runtimeAt(path);
  return {
    runtime,
    exits: (id, code, text = "") => task(id, "exit", `${code}`, text),
    waits: (id) => task(id, "wait"),
    ignoresTerm: (id) => task(id, "ignore"),
    runsOf: async (id) => processes.spawned.filter((one) => one === id).length,
    passes: async () => undefined,
    close: async () => {
      await runtime.close();
      await runner.close();
      await directory.remove();
    },
  };
});

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let path: string;
let processes: FakeProcesses;
let runner: Awaited<ReturnType<typeof startRunner>> | undefined;
const runtimes: Runtime[] = [];

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "runner");
  processes = new FakeProcesses();
  runner = await startRunner(path, processes.spawn);
});
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()));
  await runner?.close();
  await directory.remove();
});

function attach(options: Partial<ProcessRuntimeOptions> = {}): Runtime {
  const runtime = runtimeAt(path, options);
  runtimes.push(runtime);
  return runtime;
}

const task = (id: string): Task => ({ id, command: ["run"], env: {}, workingDirectory: "/", logPath: "/dev/null" });

async function restartRunner(): Promise<void> {
  await runner?.close();
  runner = await startRunner(path, processes.spawn);
}

test("what happened while nobody was attached is told to the next one", async () => {
  const first = attach();
  await first.start(task("a"));
  await first.start(task("b"));
  await first.close();
  processes.exit("a", 3);
  const second = attach();
  const heard: string[] = [];
  second.subscribe(({ id, state }) => heard.push(`${id} ${state.phase}`));
  await second.list();
  expect(await outcomeOf(second, "a")).toMatchObject({ code: 3 });
  expect(second.find("b")?.state.phase).toBe("running");
  expect(heard.filter((line) => line === "a ended")).toHaveLength(1);
  expect(heard.at(-1)).toMatch(/^(a ended|b running)$/);
});

test("before the first attachment nothing is found, and a list waits for it", async () => {
  const runtime = attach();
  expect(runtime.find("a")).toBeUndefined();
  expect(await runtime.list()).toEqual([]);
});

test("a connection that breaks is made again, requests are repeated, and nothing runs twice", async () => {
  const runtime = attach();
  await runtime.start(task("a"));
  processes.hold("b");
  const started = runtime.start(task("b"));
  await expect.poll(() => processes.asked).toContain("b");
  await restartRunner();
  // The dead runner had noted that it would start b, so nobody knows whether it ran, and it is not run again.
  expect((await started).state).toMatchObject({ phase: "ended", outcome: { kind: "lost" } });
  expect(await outcomeOf(runtime, "a")).toMatchObject({
    kind: "lost",
    message: "the runner process ended while it ran; its exit code is unknown",
  });
  expect((await runtime.start(task("c"))).state.phase).toBe("running");
  expect(processes.asked).toEqual(["a", "b", "c"]);
});

test("a task of which the next runner knows nothing is lost", async () => {
  const runtime = attach();
  await runtime.start(task("a"));
  await runner?.close();
  await rm(runnerPaths(path).journal);
  runner = await startRunner(path, processes.spawn);
  expect(await outcomeOf(runtime, "a")).toMatchObject({
    kind: "lost",
    message: "the runner process has no record of it",
    startedAt: 10,
  });
});

test("what was removed is forgotten by the next runner, too", async () => {
  const runtime = attach();
  await runtime.start(task("a"));
  processes.exit("a", 0);
  await outcomeOf(runtime, "a");
  await runtime.remove(["a", "unknown"]);
  expect(runtime.find("a")).toBeUndefined();
  await restartRunner();
  expect(await attach().list()).toEqual([]);
});

test("an owner that was replaced refuses everything, and closes without a word to the runner", async () => {
  const first = attach();
  await first.start(task("a"));
  const second = attach();
  await second.list();
  await expect.poll(() => first.stop("a", 0).catch((thrown: { code: string }) => thrown.code)).toBe("runner-taken");
  await expect(first.start(task("b"))).rejects.toMatchObject({
    code: "runner-taken",
    message: `another server has taken over the runner process for ${path}`,
  });
  await first.close({ stopTasks: 0 });
  expect(second.find("a")?.state.phase).toBe("running");
  expect(processes.signals).toEqual([]);
});

test("closing lets tasks go on, or ends them when it is told to", async () => {
  const first = attach();
  await first.start(task("a"));
  await first.close();
  expect(processes.signals).toEqual([]);
  const second = attach();
  await second.list();
  await second.close({ stopTasks: 0 });
  await expect.poll(() => processes.signals).toEqual(["a SIGKILL"]);
});

test("a task that is too long for the protocol is refused, and the connection stays", async () => {
  const runtime = attach();
  const long = { ...task("a"), env: { LONG: "x".repeat(17 * 1024 * 1024) } };
  await expect(runtime.start(long)).rejects.toMatchObject({ code: "frame-too-long" });
  expect((await runtime.start(task("b"))).state.phase).toBe("running");
});

test("a disk that does not take the intent is the caller's to hear", async () => {
  await runner?.close();
  const socketPath = runnerPaths(path).socket;
  const server = new RunnerServer({
    clock: systemClock,
    socketPath,
    idle: 600_000,
    capabilities: async () => capabilities,
  });
  const failing = { append: () => Promise.reject(new Error("ENOSPC: no space left")), close: async () => undefined };
  const options = { clock: systemClock, spawn: processes.spawn, onChange: () => undefined, onTrouble: () => undefined };
  await server.listen(await TaskTable.open(options, { journal: failing, last: [] }));
  runner = { server, close: () => server.close() };
  await expect(attach().start(task("a"))).rejects.toThrow("ENOSPC: no space left");
});

/** A runner of another making. */
async function strangeRunner(answer: (socket: Socket, request: Request) => void): Promise<Server> {
  await runner?.close();
  runner = undefined;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    receiveFrames<Request>(socket, (request) => answer(socket, request));
  });
  await new Promise<void>((resolve) => server.listen(runnerPaths(path).socket, resolve));
  return server;
}

test("a runner of another release is left alone, and the way out is told", async () => {
  let hellos = 0;
  const server = await strangeRunner((socket, { seq, op }) => {
    if (op === "hello") hellos++;
    socket.write(encodeFrame({ seq, value: { protocol: 7, tasks: [] } }));
  });
  const runtime = attach();
  const expected = {
    code: "runner-version",
    message: `the runner process for ${path} speaks protocol 7, this server speaks 1`,
    hint: "steps start again when its tasks have ended",
  };
  await expect(runtime.list()).rejects.toMatchObject(expected);
  await expect(runtime.start(task("a"))).rejects.toMatchObject(expected);
  expect(hellos).toBe(1);
  await new Promise((resolve) => server.close(resolve));
});

test("a runner that does not welcome anybody is tried again, one connection at a time", async () => {
  let open = 0;
  let most = 0;
  let hellos = 0;
  const server = await strangeRunner((socket, { seq, op }) => {
    if (op !== "hello") return void socket.write(encodeFrame({ seq, value: null }));
    hellos++;
    const message = hellos < 4 ? { seq, error: "the runner is not ready" } : { seq, value: { protocol: 1, tasks: [] } };
    socket.write(encodeFrame(message));
  });
  server.on("connection", (socket: Socket) => {
    most = Math.max(most, ++open);
    socket.once("close", () => open--);
  });
  expect(await attach().list()).toEqual([]);
  expect(hellos).toBe(4);
  expect(most).toBe(1);
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()));
  await new Promise((resolve) => server.close(resolve));
});

test("when a runner of another release has gone, its place is taken without a restart of the server", async () => {
  const asked: string[] = [];
  const server = await strangeRunner((socket, { seq, op }) => {
    asked.push(op);
    socket.write(encodeFrame({ seq, value: op === "hello" ? { protocol: 7, tasks: [] } : null }));
  });
  const clock = new FakeClock();
  const runtime = attach({ clock, runnerIdle: 1_000 });
  await expect(runtime.list()).rejects.toMatchObject({ code: "runner-version" });
  // Told that it is not needed, it ends with its last task.
  expect(asked).toEqual(["hello", "release"]);
  await new Promise((resolve) => server.close(resolve));
  runner = await startRunner(path, processes.spawn);
  await clock.advance(3_000);
  await expect.poll(() => runtime.list().catch(() => "refused")).toEqual([]);
  expect((await runtime.start(task("a"))).state.phase).toBe("running");
});

test("a runner that hangs fails calls in time and the next ones at once, with a warning; when it answers again all is well", async () => {
  let hangs = false;
  const held: (() => void)[] = [];
  const server = await strangeRunner((socket, { seq, op }) => {
    const value = op === "hello" ? { protocol: 1, tasks: [] } : null;
    const reply = () => void socket.write(encodeFrame({ seq, value }));
    if (hangs) held.push(reply);
    else reply();
  });
  const clock = new FakeClock();
  const warnings: (readonly [string, unknown])[] = [];
  const log = { ...silentLog, warn: (message: string, fields?: unknown) => void warnings.push([message, fields]) };
  const runtime = attach({ clock, log });
  expect(runtime.trouble?.()).toBe("the runner process is not attached yet");
  await runtime.list();
  expect(runtime.trouble?.()).toBeUndefined();
  hangs = true;
  const stopped = runtime.stop("a", 0).catch((thrown: unknown) => thrown);
  await expect.poll(() => held.length).toBeGreaterThan(0);
  await clock.advance(answerLimit);
  const silent = { code: "runner-silent", message: `the runner process for ${path} does not answer` };
  expect(await stopped).toMatchObject(silent);
  expect(runtime.trouble?.()).toBe(silent.message);
  await expect(runtime.stop("b", 0)).rejects.toMatchObject(silent);
  await expect(runtime.list()).rejects.toMatchObject(silent);
  expect(warnings).toEqual([
    ["steps cannot be started", { error: silent.message, hint: expect.stringContaining("kill -CONT") as string }],
  ]);
  hangs = false;
  await expect.poll(() => held.length).toBeGreaterThan(1);
  for (const reply of held) reply();
  await expect.poll(() => runtime.list().catch(() => "refused")).toEqual([]);
  await runtime.stop("c", 0);
  expect(runtime.trouble?.()).toBeUndefined();
  await runtime.close();
  await new Promise((resolve) => server.close(resolve));
});

test("a runner that hangs does not keep its owner from closing", async () => {
  const asked: string[] = [];
  const server = await strangeRunner((_, { op }) => asked.push(op));
  const clock = new FakeClock();
  const runtime = attach({ clock });
  await expect.poll(() => asked).toEqual(["hello"]);
  const closed = runtime.close();
  await clock.advance(closingLimit);
  await closed;
  await new Promise((resolve) => server.close(resolve));
});

test("a program that never begins to listen does not keep its owner from closing", async () => {
  await runner?.close();
  runner = undefined;
  const silent = join(directory.path, "silent.cjs");
  await writeFile(silent, "setInterval(() => undefined, 1000);");
  const clock = new FakeClock();
  const runtime = attach({ clock, runnerPath: silent });
  const started = runtime.start(task("a")).catch((thrown: unknown) => thrown);
  const ends: true[] = [];
  const closed = runtime.close().then(() => ends.push(true));
  while (ends.length === 0) await clock.advance(closingLimit / 10);
  expect(await started).toBeInstanceOf(Error);
  await closed;
});

test("a server that has nothing to run keeps no runner; its first task has one started", async () => {
  const unused = join(directory.path, "unused");
  const { log } = runnerPaths(unused);
  const runtime = runtimeAt(unused);
  runtimes.push(runtime);
  expect(await runtime.list()).toEqual([]);
  await runtime.stop("a", 0);
  expect(runtime.trouble?.()).toBeUndefined();
  await expect(access(log)).rejects.toThrow("ENOENT");
  const started = runtime.start(task("a")).catch((thrown: unknown) => thrown);
  // Whoever launches a runner opens its log first.
  await expect.poll(() => access(log).then(() => "launched", String)).toBe("launched");
  await runtime.close();
  expect(await started).toBeInstanceOf(Error);
});

test("tasks that a dead runner has left have one started at once, and removed ones do not", async () => {
  const left = runnerPaths(join(directory.path, "left"));
  const done = runnerPaths(join(directory.path, "done"));
  for (const paths of [left, done]) {
    await mkdir(paths.directory, { mode: 0o700 });
    const { journal } = await Journal.open(paths.journal);
    await journal.append({ entry: "intent", id: "a", at: 0 });
    if (paths === done) await journal.append({ entry: "removed", ids: ["a"] });
    await journal.close();
    runtimes.push(runtimeAt(paths.directory));
  }
  await expect.poll(() => access(left.log).then(() => "launched", String)).toBe("launched");
  await expect(access(done.log)).rejects.toThrow("ENOENT");
});

test("a health check finds a runner that hangs although nobody else asks it for anything", async () => {
  let hangs = false;
  const held: string[] = [];
  const server = await strangeRunner((socket, { seq, op }) => {
    if (hangs) held.push(op);
    else socket.write(encodeFrame({ seq, value: op === "hello" ? { protocol: 1, tasks: [] } : null }));
  });
  const clock = new FakeClock();
  const runtime = attach({ clock });
  await runtime.list();
  hangs = true;
  expect(runtime.trouble?.()).toBeUndefined();
  expect(runtime.trouble?.()).toBeUndefined();
  await expect.poll(() => held).toEqual(["remove"]);
  await clock.advance(answerLimit);
  await expect.poll(() => runtime.trouble?.()).toBe(`the runner process for ${path} does not answer`);
  const closed = runtime.close();
  await clock.advance(closingLimit);
  await closed;
  await new Promise((resolve) => server.close(resolve));
});
