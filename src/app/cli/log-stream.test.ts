import { describe, expect, test } from "vitest";
import type { LogRef, RunView, StepView } from "#engine/index.ts";
import { FakeClock } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError, ConfigMap, Pod } from "#kernel/model/index.ts";
import { startLogStream } from "./log-stream.ts";
import { lastTails, harmless, readStepLog, stepLogs } from "#app/runs/index.ts";
import { keptOutput } from "#kernel/command/testing/index.ts";

test("a line of a step cannot steer the terminal", () => {
  expect(harmless("\u001b[31mred\u001b[2J\u0007 and\ttab\r")).toBe("red and\ttab");
  expect(harmless("plain é 日本")).toBe("plain é 日本");
  expect(harmless("\u009b31mC1\u0000\u007f")).not.toMatch(/[\u0000-\u0008\u007f-\u009f]/);
});

/** What each container has written, by `pod/container`. A text `waiting` is refused as a server does. */
function world(logs: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const asked: object[] = [];
  const client = memoryClient({
    clock,
    async *logs(ref, options) {
      asked.push({ ...options, signal: undefined });
      const text = logs[`${ref.name}/${options.container}`] ?? "";
      if (text === "waiting") throw new ApiError("BadRequest", "container is waiting to start");
      if (text === "broken") throw new ApiError("InternalError", "the disk is gone");
      yield Buffer.from(text);
    },
  });
  return { client, asked, clock, pod: podIn(client, clock) };
}

/** Makes a Pod of a Job with these containers, each in this state. */
const podIn =
  (client: MemoryClient, clock: FakeClock) =>
  async (
    name: string,
    job: string,
    containers: readonly string[],
    state: object = { running: {} },
    init: readonly string[] = [],
  ): Promise<void> => {
    const named = (names: readonly string[]) => names.map((container) => ({ name: container, image: "i" }));
    const stored = await client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels: { "batch.kubernetes.io/job-name": job } },
      spec: { containers: named(containers), ...(init.length === 0 ? {} : { initContainers: named(init) }) },
    });
    const statuses = (names: readonly string[]) => names.map((container) => ({ name: container, state }));
    const status = { containerStatuses: statuses(containers), initContainerStatuses: statuses(init) };
    await client.updateStatus(Pod, { ...stored, status });
    await clock.advance(1_000);
  };

const logRef = (name: string, attempt = 1, kind = "Job", more: Partial<LogRef> = {}): LogRef => ({
  name,
  attempt,
  object: { apiVersion: kind === "Job" ? "batch/v1" : "v1", kind, name, namespace: "default" },
  ...more,
});
const step = (id: string, logs: readonly LogRef[], change: Partial<StepView> = {}): StepView => ({
  id,
  name: id,
  phase: "Running",
  dependencies: [],
  waitingFor: [],
  attempt: 1,
  rank: 0,
  artifacts: [],
  logs,
  actions: [],
  ...change,
});
const namesOf = (logs: Awaited<ReturnType<typeof stepLogs>>) =>
  logs.map(({ of, container, attempt }) => `${of.name}/${container}#${attempt}`);

describe("the containers behind a step", () => {
  test("oldest attempt and Pod first, init containers before the others", async () => {
    const { client, pod } = world({});
    await pod("z", "job", ["main", "side"], {}, ["before"]);
    await pod("a", "job", ["main"]);
    await pod("other", "another", ["main"]);
    await pod("later", "job-2", ["main"]);
    const found = await stepLogs(client, step("s", [logRef("job"), logRef("job-2", 2)]));
    expect(namesOf(found)).toEqual(["z/before#1", "z/main#1", "z/side#1", "a/main#1", "later/main#2"]);
  });

  test("one attempt, one container, or a Pod itself can be meant", async () => {
    const { client, pod } = world({});
    await pod("p", "job", ["main", "side"]);
    const logs = [logRef("job", 1, "Job", { container: "side" }), logRef("p", 2, "Pod")];
    expect(namesOf(await stepLogs(client, step("s", logs)))).toEqual(["p/side#1", "p/main#2", "p/side#2"]);
    expect(namesOf(await stepLogs(client, step("s", logs), 1))).toEqual(["p/side#1"]);
    expect(namesOf(await stepLogs(client, step("s", logs), 3))).toEqual([]);
  });

  test("attempts of an item are in the order of their numbers, also those that were created in one second", async () => {
    const { client } = world({});
    for (const [name, item, attempt] of [
      ["a", "1", "10"],
      ["b", "1", "9"],
      ["c", "0", "2"],
      ["d", "0", "1"],
    ] as const)
      await client.create(Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default", labels: { item, attempt } },
        spec: { containers: [{ name: "main", image: "i" }] },
      });
    const items = { labelSelector: "item", attemptLabel: "attempt", itemLabel: "item" };
    const found = await stepLogs(client, step("s", [logRef("s", 1, "Workflow", { items })]));
    expect(namesOf(found)).toEqual(["d/main#1", "c/main#2", "b/main#9", "a/main#10"]);
  });

  test("what is gone, and what has no Pods, has no logs", async () => {
    const { client } = world({});
    const logs = [logRef("gone"), logRef("gone", 1, "Pod"), logRef("map", 1, "ConfigMap")];
    expect(await stepLogs(client, step("s", logs))).toEqual([]);
  });

  test("a log of a run's own that its server does not have is told, one of a Pod that is gone is not", async () => {
    const client = {
      logs: () => {
        throw new ApiError("NotFound", "the server could not find the requested resource");
      },
    };
    const told: string[] = [];
    const log = { step: "1", attempt: 1, uid: "u", container: "1", hasStarted: true };
    for (const type of [Pod, ConfigMap]) {
      const of = { type, namespace: "default", name: "b" };
      const chunks = readStepLog(client, { ...log, of }, {}, (why) => told.push(`${type.kind}: ${why}`));
      for await (const _ of chunks) expect.unreachable();
    }
    expect(told).toEqual(["ConfigMap: the server has no such log"]);
  });

  test("a container that waits has written nothing, and a server that fails says so", async () => {
    const { client, pod } = world({ "p/main": "waiting", "p/side": "broken" });
    await pod("p", "job", ["main", "side"]);
    const [waiting, broken] = await stepLogs(client, step("s", [logRef("job")]));
    if (waiting === undefined || broken === undefined) throw new Error("there are two containers");
    for await (const _ of readStepLog(client, waiting, {})) expect.unreachable();
    await expect(async () => {
      for await (const _ of readStepLog(client, broken, {})) expect.unreachable();
    }).rejects.toThrow("the disk is gone");
  });
});

describe("the tails of steps", () => {
  const view = (steps: readonly StepView[]) => ({ steps }) as unknown as RunView;

  test("only of steps that failed, of their last attempt, of containers that wrote something", async () => {
    const { client, pod, asked, clock } = world({
      "p1/main": "first try\n",
      "p2/main": "one\n\u001b[31mtwo\u001b[0m\n",
      "p3/main": "fine\n",
    });
    await pod("p1", "j1", ["main"]);
    await pod("p2", "j2", ["main", "silent"]);
    await pod("p3", "j3", ["main"]);
    const failed = step("bad", [logRef("j1", 1), logRef("j2", 2)], { phase: "Failed", attempt: 2 });
    const tails = await lastTails(
      client,
      view([failed, step("good", [logRef("j3")], { phase: "Succeeded" })]),
      20,
      clock,
    );
    expect(tails).toEqual([{ step: failed, attempt: 2, container: "main", lines: ["one", "two"] }]);
    expect(asked).toContainEqual({ container: "main", tailLines: 20, limitBytes: 65_536, signal: undefined });
  });

  test("of the only step of a run that succeeded, too, unless the run keeps its logs itself", async () => {
    const { client, pod, clock } = world({ "p1/main": "hello, you\n" });
    await pod("p1", "j1", ["main"]);
    const only = step("greet", [logRef("j1")], { phase: "Succeeded" });
    const tails = await lastTails(client, view([only]), 20, clock);
    expect(tails).toEqual([{ step: only, attempt: 1, container: "main", lines: ["hello, you"] }]);
    const own = step("greet", [{ ...logRef("j1"), isOwn: true }], { phase: "Succeeded" });
    expect(await lastTails(client, view([own]), 20, clock)).toEqual([]);
  });

  test("each container has its own exit code, of its last run where it waits for another one", async () => {
    const { client, pod, clock } = world({ "p/main": "m\n", "q/main": "w\n" });
    await pod("p", "j", ["main"], { terminated: { exitCode: 7 } });
    await pod("q", "j", ["main"], { running: {} });
    const stored = await client.get({ type: Pod, namespace: "default", name: "q" });
    const containerStatuses = [{ name: "main", state: { running: {} }, lastState: { terminated: { exitCode: 9 } } }];
    await client.updateStatus(Pod, { ...stored, status: { containerStatuses } });
    const failed = step("bad", [logRef("j")], { phase: "Failed" });
    const tails = await lastTails(client, view([failed]), 20, clock);
    expect(tails.map(({ exitCode }) => exitCode)).toEqual([7, 9]);
  });

  /** A run that keeps its logs itself; `answer` is what a look at one gives. */
  async function ownWorld(answer: (look: number, signal: AbortSignal | undefined) => AsyncIterable<Uint8Array>) {
    const clock = new FakeClock();
    let looks = 0;
    const client = memoryClient({ clock, types: [ConfigMap], logs: (_ref, { signal }) => answer(looks++, signal) });
    await client.create(ConfigMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "run", namespace: "default" },
    });
    const object = { apiVersion: "v1", kind: "ConfigMap", name: "run", namespace: "default", uid: "u" };
    const log = { name: "s", attempt: 1, object, container: "part", isOwn: true };
    const failed = step("s", [log], { phase: "Failed" });
    const tails = lastTails(client, view([failed]), 2, clock);
    return { clock, tails: tails.then(([tail]) => tail?.lines), whole: tails, failed, looks: () => looks };
  }

  test("what a run keeps itself is waited for when it comes later than the news of the failure", async () => {
    const { clock, tails, whole, failed, looks } = await ownWorld(async function* (look) {
      if (look < 2) throw new ApiError("BadRequest", "has sent no log");
      yield Buffer.from("one\ntwo\n");
      yield Buffer.from("three\n");
    });
    await clock.settle();
    expect(looks()).toBe(1);
    await clock.advance(200);
    expect(await tails).toEqual(["two", "three"]);
    expect(await whole, "without the id by which the log is asked for").toEqual([
      { step: failed, attempt: 1, lines: ["two", "three"] },
    ]);
  });

  test("a log that never comes, or never ends, is waited for two seconds", async () => {
    const none = await ownWorld(() => {
      throw new ApiError("BadRequest", "has sent no log");
    });
    const endless = await ownWorld(async function* (_look, signal) {
      yield Buffer.from("so far\n");
      await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    });
    for (const { clock } of [none, endless]) {
      await clock.settle();
      await clock.advance(2000);
    }
    expect(await none.tails).toBeUndefined();
    expect(await endless.tails).toEqual(["so far"]);
  });
});

describe("a stream of logs", () => {
  test("every container is printed once, under its step and attempt, however often the run is seen", async () => {
    const { client, pod, clock } = world({ "p1/main": "one\ntwo\n", "p2/main": "again" });
    await pod("p1", "j1", ["main"]);
    const [output, err] = [keptOutput(), keptOutput()];
    const stream = startLogStream(client, { out: output, err }, { prefix: true }, clock, new AbortController().signal);
    const first = step("s", [logRef("j1")]);
    stream.see([first]);
    stream.see([first]);
    await pod("p2", "j2", ["main"]);
    stream.see([step("s", [logRef("j1"), logRef("j2", 2)], { attempt: 2 })]);
    expect(await stream.close()).toBe(true);
    expect(output.text().split("\n").sort()).toEqual(["", "s | one", "s | two", "s#2 | again"]);
  });

  test("a container that waits is followed once it has started, at the latest when all is over", async () => {
    const { client, pod, clock } = world({ "p1/main": "here\n" });
    await pod("p1", "j1", ["main"], { waiting: { reason: "ContainerCreating" } });
    const [output, err] = [keptOutput(), keptOutput()];
    const stream = startLogStream(client, { out: output, err }, { prefix: false }, clock, new AbortController().signal);
    stream.see([step("s", [logRef("j1")])]);
    const stored = await client.get({ type: Pod, namespace: "default", name: "p1" });
    await client.updateStatus(Pod, {
      ...stored,
      status: { containerStatuses: [{ name: "main", state: { terminated: {} } }] },
    });
    await stream.close();
    expect(output.text()).toBe("here\n");
  });

  test("a container that starts while the run does not change is followed within half a second", async () => {
    const { client, pod, clock } = world({ "p1/main": "here\n" });
    const [output, err] = [keptOutput(), keptOutput()];
    const stream = startLogStream(client, { out: output, err }, { prefix: false }, clock, new AbortController().signal);
    stream.see([step("s", [logRef("j1")], { phase: "Running" })]);
    await clock.advance(500);
    await pod("p1", "j1", ["main"], { waiting: { reason: "ContainerCreating" } });
    await clock.advance(500);
    expect(output.text()).toBe("");
    const stored = await client.get({ type: Pod, namespace: "default", name: "p1" });
    await client.updateStatus(Pod, {
      ...stored,
      status: { containerStatuses: [{ name: "main", state: { running: {} } }] },
    });
    await clock.advance(500);
    await clock.advance(0);
    expect(output.text()).toBe("here\n");
    stream.stop();
  });

  test("a log that breaks off does not end the others, and steps that have not begun are not looked for", async () => {
    const { client, pod, clock } = world({ "p1/main": "broken", "p2/main": "fine\n" });
    await pod("p1", "j1", ["main"]);
    await pod("p2", "j2", ["main"]);
    await pod("p3", "j3", ["main"]);
    const [output, err] = [keptOutput(), keptOutput()];
    const stream = startLogStream(client, { out: output, err }, { prefix: true }, clock, new AbortController().signal);
    stream.see([step("a", [logRef("j1")]), step("b", [logRef("j2")]), step("c", [logRef("j3")], { phase: "Pending" })]);
    const closed = stream.close();
    await clock.advance(30_000);
    expect(await closed).toBe(false);
    expect(output.text()).toBe("b | fine\n");
    expect(err.text()).toBe("slipway: a: the log of attempt 1 broke off: the disk is gone\n");
  });

  test("options of the reader reach the server", async () => {
    const { client, pod, asked, clock } = world({ "p1/main": "1\n2\n3\n4\n" });
    await pod("p1", "j1", ["main"]);
    const [out, err] = [keptOutput(), keptOutput()];
    const options = { prefix: true, tailLines: 3, timestamps: true };
    const stream = startLogStream(client, { out, err }, options, clock, new AbortController().signal);
    stream.see([step("s", [logRef("j1")])]);
    await stream.close();
    expect(asked.at(-1)).toEqual({ container: "main", follow: true, timestamps: true, signal: undefined });
    expect(out.text()).toBe("s | 2\ns | 3\ns | 4\n");
  });

  test("any number of streams listen to one signal without a warning", async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.message);
    process.on("warning", onWarning);
    const clock = new FakeClock();
    const signals = new Set<AbortSignal>();
    let open = 0;
    const client = memoryClient({
      clock,
      async *logs(_ref, { signal }) {
        if (signal === undefined) throw new Error("a follower has a signal");
        signals.add(signal);
        open++;
        yield Buffer.from("begun\n");
        // As a connection does.
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      },
    });
    const containers = Array.from({ length: 30 }, (_, index) => `c${index}`);
    await podIn(client, clock)("p", "job", containers);
    const [out, err] = [keptOutput(), keptOutput()];
    const stream = startLogStream(client, { out, err }, { prefix: true }, clock, new AbortController().signal);
    stream.see([step("s", [logRef("job")])]);
    const closed = stream.close();
    await clock.advance(0);
    expect({ open, signals: signals.size }).toEqual({ open: 30, signals: 1 });
    stream.stop();
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
    expect(err.text()).toBe("");
  });
});
