import { access, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { RuntimeCapabilities, Task, TaskStatus } from "../../contract.ts";
import { FakeJournal, FakeProcesses, temporaryDirectory } from "../../testing/index.ts";
import { type LinkEvents, RunnerLink } from "../runner-link.ts";
import { Patience } from "../patience.ts";
import { protocolVersion } from "../wire.ts";
import { RunnerServer } from "./runner-server.ts";
import { TaskTable } from "./task-table.ts";

const idle = 5_000;
const capabilities: RuntimeCapabilities = { images: false, mounts: { supported: true }, users: true, limits: false };

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let processes: FakeProcesses;
let server: RunnerServer;
let socketPath: string;
let isDone: boolean;
/** Its clock stands still: nobody is waited for too long here. */
const patience = new Patience(new FakeClock(), new AbortController().signal);
const links = new Set<RunnerLink>();

beforeEach(async () => {
  directory = await temporaryDirectory();
  socketPath = join(directory.path, "sock");
  clock = new FakeClock();
  processes = new FakeProcesses();
  server = new RunnerServer({ clock, socketPath, idle, capabilities: async () => capabilities });
  isDone = false;
  void server.done.then(() => (isDone = true));
});
afterEach(async () => {
  await server.close();
  await Promise.all([...links].map((link) => link.close()));
  links.clear();
  await directory.remove();
});

async function listen(journal = new FakeJournal()): Promise<void> {
  const options = {
    clock,
    spawn: processes.spawn,
    onChange: (status: TaskStatus) => server.tell(status),
    onTrouble: () => undefined,
  };
  await server.listen(await TaskTable.open(options, { journal, last: [] }));
}

async function attach(events: Partial<LinkEvents> = {}): Promise<RunnerLink> {
  const link = await RunnerLink.connect(socketPath, patience, {
    onEvent: () => undefined,
    onLost: () => undefined,
    ...events,
  });
  links.add(link);
  return link;
}

async function own(events: Partial<LinkEvents> = {}): Promise<RunnerLink> {
  const link = await attach(events);
  await link.call({ op: "hello", protocol: protocolVersion });
  return link;
}

const task = (id: string): Task => ({ id, command: ["run"], env: {}, workingDirectory: "/", logPath: "/dev/null" });
const start = (link: RunnerLink, id: string) => link.call({ op: "start", task: task(id) });

/** Sockets tell of their end in their own time, which no clock moves. */
const until = (holds: () => boolean | Promise<boolean>) => expect.poll(holds).toBe(true);

test("only this user may connect", async () => {
  await listen();
  expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
});

test("a runner whose owner went away while a start was refused ends after its idle time", async () => {
  const journal = new FakeJournal();
  await listen(journal);
  const link = await own();
  journal.slow();
  const starting = start(link, "a");
  starting.catch(() => undefined);
  // Answered after what was asked before.
  await link.call({ op: "capabilities" });
  await link.close();
  await clock.advance(idle);
  expect(isDone).toBe(false);
  journal.refuse(new Error("no room"));
  await until(async () => {
    await clock.advance(idle);
    return isDone;
  });
});

test("a socket that a dead runner left is replaced", async () => {
  await writeFile(socketPath, "");
  await listen();
  expect(await (await own()).call({ op: "capabilities" })).toEqual(capabilities);
});

test("a runner that nobody came to ends after its idle time", async () => {
  await listen();
  await clock.advance(idle - 1);
  expect(isDone).toBe(false);
  await clock.advance(1);
  expect(isDone).toBe(true);
});

test("hello makes an owner, who is told all there is and what comes", async () => {
  await listen();
  const first = await own();
  await start(first, "a");
  await first.close();
  const heard: string[] = [];
  const second = await attach({ onEvent: (one) => heard.push("status" in one ? one.status.state.phase : one.event) });
  expect(await second.call({ op: "hello", protocol: protocolVersion })).toMatchObject({
    protocol: protocolVersion,
    tasks: [{ id: "a", state: { phase: "running" } }],
  });
  processes.exit("a", 0);
  await until(() => heard.length === 1);
  expect(heard).toEqual(["ended"]);
});

test("before hello nothing is done", async () => {
  await listen();
  const link = await attach();
  await expect(start(link, "a")).rejects.toThrow("this connection does not own the runner");
  expect(processes.spawned).toEqual([]);
});

test("of two owners the newest counts: the former is told, closed and heard no more", async () => {
  await listen();
  const heard: string[] = [];
  let isLost = false;
  const first = await own({ onEvent: ({ event }) => heard.push(event), onLost: () => (isLost = true) });
  await start(first, "a");
  const second = await own();
  await expect(first.call({ op: "stop", id: "a", graceMs: 0 })).rejects.toThrow();
  await until(() => isLost);
  expect(heard.filter((event) => event === "replaced")).toHaveLength(1);
  expect(processes.signals).toEqual([]);
  await second.call({ op: "stop", id: "a", graceMs: 0 });
  expect(processes.signals).toEqual(["a SIGKILL"]);
  // The former owner's leaving does not take the runner from the present one.
  await clock.advance(10 * idle);
  expect(isDone).toBe(false);
});

test("the same owner may say hello again", async () => {
  await listen();
  const link = await own();
  await link.call({ op: "hello", protocol: protocolVersion });
  await start(link, "a");
  expect(processes.spawned).toEqual(["a"]);
});

test("an owner of another version is told ours and decides for itself", async () => {
  await listen();
  const link = await attach();
  expect(await link.call({ op: "hello", protocol: protocolVersion + 1 })).toMatchObject({ protocol: protocolVersion });
});

test("every request may be repeated", async () => {
  await listen();
  const link = await own();
  await Promise.all([start(link, "a"), start(link, "a")]);
  expect(processes.spawned).toEqual(["a"]);
  for (let time = 0; time < 2; time++) await link.call({ op: "stop", id: "a", graceMs: 0 });
  await until(() => processes.signals.length === 1);
  await clock.advance(0);
  for (let time = 0; time < 2; time++) expect(await link.call({ op: "remove", ids: ["a"] })).toBeNull();
  expect(await link.call({ op: "hello", protocol: protocolVersion })).toMatchObject({ tasks: [] });
});

test("without an owner the runner stays until its tasks have ended and its idle time is over", async () => {
  await listen();
  const link = await own();
  await start(link, "a");
  await link.close();
  await clock.advance(100 * idle);
  expect(isDone).toBe(false);
  processes.exit("a", 0);
  await clock.advance(idle - 1);
  expect(isDone).toBe(false);
  await clock.advance(1);
  expect(isDone).toBe(true);
});

test("a released runner does not wait for anybody, but for its tasks", async () => {
  await listen();
  const link = await own();
  await start(link, "a");
  await link.call({ op: "release" });
  await link.close();
  await clock.advance(10);
  expect(isDone).toBe(false);
  expect(processes.signals).toEqual([]);
  processes.exit("a", 0);
  await clock.advance(0);
  expect(isDone).toBe(true);
});

test("a release may ask for the end of the tasks", async () => {
  await listen();
  const link = await own();
  await start(link, "a");
  await link.call({ op: "release", stopTasksMs: 0 });
  await link.close();
  await until(() => {
    void clock.advance(0);
    return isDone;
  });
  expect(processes.signals).toEqual(["a SIGKILL"]);
});

test("a new owner takes a release back", async () => {
  await listen();
  const first = await own();
  await start(first, "a");
  await first.call({ op: "release" });
  await first.close();
  const second = await own();
  processes.exit("a", 0);
  await clock.advance(0);
  await second.close();
  await clock.advance(idle - 1);
  expect(isDone).toBe(false);
});

test("an owner that comes while the idle time runs stops it", async () => {
  await listen();
  await clock.advance(idle - 1);
  await own();
  await clock.advance(10 * idle);
  expect(isDone).toBe(false);
});

test("who connects and says nothing keeps neither the idle time nor the end from coming", async () => {
  await listen();
  await attach();
  await clock.advance(idle);
  expect(isDone).toBe(true);
  await server.close();
  await expect(access(socketPath)).rejects.toMatchObject({ code: "ENOENT" });
});

test("nonsense ends its own connection only", async () => {
  await listen();
  const link = await own();
  const stranger = connect(socketPath);
  stranger.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => stranger.once("close", () => resolve()));
  stranger.write(Buffer.from([0, 0, 0, 2, 33, 33]));
  await closed;
  expect(await link.call({ op: "capabilities" })).toEqual(capabilities);
});
