import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeEach, expect, test } from "vitest";
import { identityOf } from "#lib/base/index.node.ts";
import { FakeClock, messageOf } from "#lib/base/index.ts";
import type { Task, TaskStatus } from "../../contract.ts";
import { FakeJournal, FakeProcesses } from "../../testing/index.ts";
import type { JournalEntry } from "./journal.ts";
import { TaskTable } from "./task-table.ts";

let clock: FakeClock;
let journal: FakeJournal;
let processes: FakeProcesses;
let told: string[];
let troubles: string[];

const open = (last: readonly JournalEntry[] = [], adopt?: FakeProcesses["adopt"]): Promise<TaskTable> =>
  TaskTable.open(
    {
      clock,
      spawn: processes.spawn,
      onChange: ({ id, state }) => told.push(`${id} ${state.phase}`),
      onTrouble: (failure) => troubles.push(messageOf(failure)),
    },
    { journal, last, ...(adopt === undefined ? {} : { adopt }) },
  );

beforeEach(() => {
  clock = new FakeClock(1_000);
  journal = new FakeJournal();
  processes = new FakeProcesses();
  told = [];
  troubles = [];
});

const task = (id: string, program = "run"): Task => ({
  id,
  command: [program],
  env: {},
  workingDirectory: "/",
  logPath: "/dev/null",
});

/** Lets everything happen that needs no time. */
const settled = () => clock.advance(0);
const find = (table: TaskTable, id: string) => table.list().find((one) => one.id === id)?.state;
const entriesOf = (id: string) => journal.durable.flatMap((one) => ("id" in one && one.id === id ? [one.entry] : []));

test("a task's way is written down before it is told, step by step", async () => {
  const table = await open();
  journal.slow();
  const started = table.start(task("a"));
  await settled();
  expect(processes.spawned).toEqual([]);
  journal.flush();
  await settled();
  expect(processes.spawned).toEqual(["a"]);
  expect(told).toEqual([]);
  expect(find(table, "a")).toEqual({ phase: "starting" });
  journal.flush();
  expect((await started).state).toMatchObject({ phase: "running", startedAt: 10 });
  processes.exit("a", 3);
  await settled();
  expect(told).toEqual(["a running"]);
  expect(table.active).toBe(1);
  journal.flush();
  await settled();
  expect(told).toEqual(["a running", "a ended"]);
  expect(table.active).toBe(0);
  expect(entriesOf("a")).toEqual(["intent", "started", "ended"]);
});

test("an end that comes before the start is noted is told after it", async () => {
  const table = await open();
  journal.slow();
  const started = table.start(task("a"));
  await settled();
  journal.flush();
  await settled();
  processes.exit("a", 0);
  await settled();
  journal.flush();
  await started;
  journal.flush();
  await settled();
  expect(told).toEqual(["a running", "a ended"]);
});

test("a task that cannot be started has an end and no start", async () => {
  const table = await open();
  const { state } = await table.start(task("a", "missing"));
  expect(state).toMatchObject({ phase: "ended", outcome: { kind: "not-started", code: 127 } });
  expect(told).toEqual(["a ended"]);
  expect(entriesOf("a")).toEqual(["intent", "ended"]);
});

test("a machine that cannot start anything is an outcome of the task, not a failure of the table", async () => {
  const table = await open();
  const { state } = await table.start(task("a", "impossible"));
  expect(state).toMatchObject({ outcome: { kind: "not-started", code: 128, message: "no pipe" } });
});

test("the same id is spawned once, however often and whenever it is started", async () => {
  const table = await open();
  processes.hold("a");
  const starts = [table.start(task("a")), table.start(task("a")), table.start(task("a", "missing"))];
  await settled();
  processes.release("a");
  expect(new Set((await Promise.all(starts)).map(({ state }) => state.phase))).toEqual(new Set(["running"]));
  processes.exit("a", 0);
  await settled();
  expect((await table.start(task("a"))).state.phase).toBe("ended");
  expect(processes.spawned).toEqual(["a"]);
});

test("what cannot be remembered is not begun, and may be tried again", async () => {
  const table = await open();
  journal.fail(new Error("disk full"));
  await expect(Promise.all([table.start(task("a")), table.start(task("a"))])).rejects.toThrow("disk full");
  expect(processes.spawned).toEqual([]);
  expect(table.list()).toEqual([]);
  expect(table.active).toBe(0);
  journal.fail(undefined);
  expect((await table.start(task("a"))).state.phase).toBe("running");
});

test("a start that cannot be noted is told all the same: the process is there", async () => {
  const table = await open();
  processes.hold("a");
  const started = table.start(task("a"));
  await settled();
  journal.fail(new Error("disk full"));
  processes.release("a");
  expect((await started).state.phase).toBe("running");
  expect(troubles).toEqual(["disk full"]);
});

test("an end that cannot be noted is tried every second, and told when it is noted", async () => {
  const table = await open();
  await table.start(task("a"));
  journal.fail(new Error("disk full"));
  processes.exit("a", 5);
  await clock.advance(2_500);
  expect(troubles).toEqual(["disk full", "disk full", "disk full"]);
  expect(told).toEqual(["a running"]);
  expect(table.active).toBe(1);
  journal.fail(undefined);
  await clock.advance(500);
  expect(told).toEqual(["a running", "a ended"]);
  expect(find(table, "a")).toMatchObject({ outcome: { code: 5, finishedAt: 20 } });
});

test("a grace ends in KILL, and a process that was halted is let go on to hear TERM", async () => {
  const table = await open();
  await table.start(task("a"));
  table.stop("a", 5_000);
  expect(processes.signals).toEqual(["a SIGTERM", "a SIGCONT"]);
  await clock.advance(4_999);
  expect(processes.signals).toHaveLength(2);
  await clock.advance(1);
  expect(processes.signals.slice(2)).toEqual(["a SIGKILL"]);
  expect(told).toEqual(["a running", "a ended"]);
});

test.each([
  { graces: [5_000, 1_000], endsAt: 1_000, because: "a shorter one comes" },
  { graces: [1_000, 5_000], endsAt: 1_000, because: "a longer one changes nothing" },
  { graces: [5_000, 0], endsAt: 0, because: "none is left" },
  { graces: [5_000, -1], endsAt: 0, because: "less than none is none" },
  { graces: [0, 5_000], endsAt: 0, because: "it is killed already" },
])("graces of $graces ms end after $endsAt ms: $because", async ({ graces, endsAt }) => {
  const table = await open();
  await table.start(task("a"));
  for (const grace of graces) table.stop("a", grace);
  if (endsAt > 0) {
    await clock.advance(endsAt - 1);
    expect(processes.signals).not.toContain("a SIGKILL");
    await clock.advance(1);
  }
  expect(processes.signals.filter((signal) => signal === "a SIGKILL")).toHaveLength(1);
  await clock.advance(10_000);
  expect(processes.signals.filter((signal) => signal === "a SIGKILL")).toHaveLength(1);
});

test("an administrator who sets the clock changes no grace", async () => {
  const table = await open();
  await table.start(task("a"));
  table.stop("a", 5_000);
  clock.jump(clock.now() + 3_600_000);
  table.stop("a", 60_000);
  await clock.advance(4_999);
  expect(processes.signals).not.toContain("a SIGKILL");
  await clock.advance(1);
  expect(processes.signals).toContain("a SIGKILL");
});

test("a task that was stopped before its intent was noted is not started", async () => {
  const table = await open();
  journal.slow();
  const started = table.start(task("a"));
  table.stop("a", 30_000);
  journal.flush();
  await settled();
  journal.flush();
  expect((await started).state).toMatchObject({
    phase: "ended",
    outcome: { kind: "not-started", code: 128, message: "stopped before it was started" },
  });
  expect(processes.spawned).toEqual([]);
});

test("a task that was stopped while it was being started is stopped then, with the shortest grace asked for", async () => {
  const table = await open();
  processes.hold("a");
  const started = table.start(task("a"));
  await settled();
  table.stop("a", 30_000);
  table.stop("a", 2_000);
  table.stop("a", 9_000);
  processes.release("a");
  await started;
  expect(processes.signals).toEqual(["a SIGTERM", "a SIGCONT"]);
  await clock.advance(2_000);
  expect(processes.signals).toContain("a SIGKILL");
});

test("nothing is signalled once a task has ended", async () => {
  const table = await open();
  await table.start(task("a"));
  table.stop("a", 5_000);
  processes.exit("a", 0);
  await settled();
  table.stop("a", 0);
  await clock.advance(60_000);
  expect(processes.signals).toEqual(["a SIGTERM", "a SIGCONT"]);
  table.stop("nobody", 0);
});

test("stopping all reaches those that are only being started", async () => {
  const table = await open();
  await table.start(task("a"));
  processes.hold("b");
  const second = table.start(task("b"));
  await settled();
  table.stopAll(0);
  processes.release("b");
  await second;
  await settled();
  expect(processes.signals).toEqual(["a SIGKILL", "b SIGKILL"]);
  expect(table.active).toBe(0);
});

test("removing forgets what has ended, once that is noted", async () => {
  const table = await open();
  await table.start(task("a"));
  await table.start(task("b", "missing"));
  await table.remove(["a", "nobody"]);
  expect(journal.durable.some(({ entry }) => entry === "removed")).toBe(false);
  journal.fail(new Error("disk full"));
  await expect(table.remove(["a", "b"])).rejects.toThrow("disk full");
  expect(table.list().map(({ id }) => id)).toEqual(["a", "b"]);
  journal.fail(undefined);
  await table.remove(["a", "b"]);
  expect(table.list().map(({ id }) => id)).toEqual(["a"]);
  expect(journal.durable.at(-1)).toEqual({ entry: "removed", ids: ["b"] });
});

const exited = { kind: "exited", code: 7, startedAt: 1, finishedAt: 2 } as const;
const dead = { pid: 2 ** 30, startTicks: "1", boot: "another" };

test.each<[string, JournalEntry, object]>([
  [
    "an intent may have run",
    { entry: "intent", id: "a", at: 500 },
    {
      kind: "lost",
      message: "the runner process ended while starting it; it may have run",
      finishedAt: 1_000,
    },
  ],
  [
    "a start without an end has an unknown exit code",
    { entry: "started", id: "a", at: 500, process: dead },
    {
      kind: "lost",
      message: "the runner process ended while it ran; its exit code is unknown",
      startedAt: 500,
      finishedAt: 1_000,
    },
  ],
  ["an end is what it was", { entry: "ended", id: "a", outcome: exited }, exited],
])("of an earlier runner's tasks, %s", async (_name, entry, outcome) => {
  const table = await open([entry]);
  expect(find(table, "a")).toEqual({ phase: "ended", outcome });
  expect(table.active).toBe(0);
  expect((await table.start(task("a"))).state).toEqual({ phase: "ended", outcome });
  expect(processes.spawned).toEqual([]);
  // Whoever comes next finds the same, and does not judge again.
  expect(journal.last).toEqual(entry.entry === "ended" ? [] : [{ entry: "ended", id: "a", outcome }]);
});

test("a task that still runs is adopted: it can be stopped, and its end is noted and told", async () => {
  await (await open()).start(task("a"));
  told.length = 0;
  const second = await open(journal.last, processes.adopt);
  expect(find(second, "a")).toMatchObject({ phase: "running", startedAt: 10 });
  expect(second.active).toBe(1);
  expect((await second.start(task("a"))).state.phase).toBe("running");
  second.stop("a", 0);
  await settled();
  expect(processes.signals).toEqual(["a SIGKILL"]);
  expect(processes.spawned).toEqual(["a"]);
  expect(told).toContain("a ended");
  expect(second.active).toBe(0);
  expect(journal.last).toMatchObject([{ entry: "ended", outcome: { code: 137 } }]);
});

test("a task whose adoption fails is lost", async () => {
  const table = await open([{ entry: "started", id: "a", at: 500, process: dead }], () =>
    Promise.reject(new Error("no pipe")),
  );
  expect(find(table, "a")).toMatchObject({ outcome: { kind: "lost", startedAt: 500 } });
});

test("a process of an earlier release, which nobody supervises, is killed and lost", async () => {
  const child = spawn("sleep", ["3600"], { detached: true, stdio: "ignore" });
  const ended = once(child, "exit");
  const process = identityOf(child.pid ?? 0);
  const table = await open([{ entry: "started", id: "a", at: 500, process }], async () => undefined);
  expect(find(table, "a")).toMatchObject({
    outcome: {
      kind: "lost",
      message: "the runner process ended while it ran; it was still running and has been killed",
    },
  });
  expect(await ended).toEqual([null, "SIGKILL"]);
});

test("a table cannot be opened while the fate of lost tasks cannot be noted", async () => {
  journal.fail(new Error("disk full"));
  await expect(open([{ entry: "intent", id: "a", at: 500 }])).rejects.toThrow("disk full");
});

test("a table in memory notes nothing and works all the same", async () => {
  const statuses: TaskStatus[] = [];
  const table = TaskTable.inMemory({
    clock,
    spawn: processes.spawn,
    onChange: (status) => statuses.push(status),
    onTrouble: () => undefined,
  });
  await table.start(task("a"));
  processes.exit("a", 4);
  await settled();
  expect(statuses.map(({ state }) => state.phase)).toEqual(["running", "ended"]);
  await table.remove(["a"]);
  expect(table.list()).toEqual([]);
  await table.close();
});
