import { afterEach, expect, test } from "vitest";
import { Metrics } from "#kernel/kit/index.ts";
import { Job, type Stored } from "#kernel/model/index.ts";
import { Workflow, type WorkflowStep } from "../kinds.ts";
import { Harness, job, namespace } from "../testing/harness.ts";
import { ConcurrencyLimit, type Holder } from "./kind.ts";

let open: Harness | undefined;
function start(options: ConstructorParameters<typeof Harness>[0] = {}): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const locks = (...names: string[]) => ({ locks: names.map((name) => ({ name })) });
const locked = (...names: string[]): WorkflowStep => job(locks(...names));

const limitOf = (run: Harness, name: string): Promise<Stored<ConcurrencyLimit>> =>
  run.store.get<ConcurrencyLimit>({ type: ConcurrencyLimit, namespace, name });

const writeLimit = async (run: Harness, name: string, limit: number): Promise<Stored<ConcurrencyLimit>> => {
  const object = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "ConcurrencyLimit",
    metadata: { name, namespace },
    spec: { limit },
  };
  return await run.store.create<ConcurrencyLimit>(ConcurrencyLimit, object);
};

const told = ({ name, step, item }: Holder): string =>
  [name, step, item].filter((part) => part !== undefined).join("/");
const holders = async (run: Harness, name: string): Promise<readonly string[]> =>
  ((await limitOf(run, name)).status?.holders ?? []).map(told);

const phase = async (run: Harness, workflow: string, step = "a") =>
  (await run.status(workflow)).statuses?.[step]?.phase;

/** Ends the active Job of a workflow's step. */
async function end(run: Harness, workflow: string): Promise<void> {
  const found = (await run.jobs()).find(
    ({ metadata, status }) => status === undefined && metadata.labels?.["slipway.dev/workflow"] === workflow,
  );
  if (found === undefined) throw new Error(`${workflow} has no active Job`);
  await run.store.updateStatus(Job, { ...found, status: { conditions: [{ type: "Complete", status: "True" }] } });
  await run.settle();
}

test("names of locks have expressions: one place for each name, of steps and of items", async () => {
  const run = start();
  const params = [{ name: "env", type: "string" as const }];
  const into = (env: string) => ({ params, arguments: { env }, steps: { a: locked("db-${{ params.env }}") } });
  await run.create(into("prod"), "one");
  await run.create(into("prod"), "two");
  await run.create(into("test"), "three");
  expect(await holders(run, "db-prod")).toEqual(["one/a"]);
  expect([await phase(run, "two"), await phase(run, "three")]).toEqual(["Waiting", "Starting"]);
  await end(run, "one");
  expect(await holders(run, "db-prod")).toEqual(["two/a"]);
  const items = job({ ...locks("node-${{ item }}"), forEach: { items: ["x", "y", "x"] } });
  await run.create({ steps: { a: items } }, "each");
  expect((await run.status("each")).statuses?.["a"]?.items?.states).toMatch(/1P$/);
  expect([await holders(run, "node-x"), await holders(run, "node-y")]).toEqual([["each/a/0"], ["each/a/1"]]);
  await end(run, "each");
  await end(run, "each");
  expect(await holders(run, "node-x")).toEqual(["each/a/2"]);
  await run.create({ ...into("a b"), steps: { a: locked("${{ params.env }}") } }, "wrong");
  expect((await run.status("wrong")).statuses?.["a"]).toMatchObject({
    phase: "Failed",
    reason: "ExpressionError",
    message: expect.stringContaining("locks: "),
  });
});

test("a lock that nobody has a limit for has one place, and goes from one to the next", async () => {
  const run = start();
  await run.create({ steps: { a: locked("db") } }, "one");
  await run.create({ steps: { a: locked("db") } }, "two");
  expect(await holders(run, "db")).toEqual(["one/a"]);
  expect(await phase(run, "one")).toBe("Starting");
  expect((await run.status("two")).statuses?.["a"]).toMatchObject({ phase: "Waiting", reason: "Lock" });
  expect(await run.jobs()).toHaveLength(1);
  await end(run, "one");
  expect(await holders(run, "db")).toEqual(["two/a"]);
  await end(run, "two");
  expect((await run.status("two")).phase).toBe("Succeeded");
  expect(await limitOf(run, "db")).toMatchObject({ spec: { limit: 1 }, status: { holders: [], held: 0 } });
});

test("who is waited for is told once the wait lasts, and as one event", async () => {
  const run = start();
  await run.create({ steps: { a: locked("db") } }, "one");
  await run.create({ steps: { a: locked("db") } }, "two");
  expect((await run.status("two")).statuses?.["a"]).not.toHaveProperty("message");
  expect(run.reasons()).not.toContain("LockWaiting");
  await run.pass(90_000);
  expect((await run.status("two")).statuses?.["a"]?.message).toBe('lock "db" is held by one/a');
  expect(run.reasons().filter((reason) => reason === "LockWaiting")).toHaveLength(1);
});

test("a limit of two lets two in; what waits comes by priority, then age", async () => {
  const run = start();
  await writeLimit(run, "db", 2);
  for (const [name, priority] of [
    ["w1", 0],
    ["w2", 0],
    ["w3", 0],
    ["w4", 5],
    ["w5", 5],
  ] as const) {
    await run.create({ priority, steps: { a: locked("db") } }, name);
    await run.pass(1_000);
  }
  expect(await holders(run, "db")).toEqual(["w1/a", "w2/a"]);
  await end(run, "w1");
  await end(run, "w2");
  expect(await holders(run, "db")).toEqual(["w4/a", "w5/a"]);
  await end(run, "w4");
  expect(await holders(run, "db")).toEqual(["w5/a", "w3/a"]);
});

test("a step's own priority goes before that of its workflow", async () => {
  const run = start();
  await run.create({ steps: { a: locked("db") } }, "first");
  await run.create({ priority: 10, steps: { a: locked("db") } }, "ten");
  await run.create({ steps: { a: { ...locked("db"), priority: 20 } } }, "twenty");
  await end(run, "first");
  expect(await holders(run, "db")).toEqual(["twenty/a"]);
});

test("several locks are held together or not at all, and nobody overtakes who waits for one of them", async () => {
  const run = start();
  await run.create({ steps: { a: locked("x") } }, "holdsx");
  await run.pass(1_000);
  await run.create({ steps: { a: locked("y", "x") } }, "both");
  await run.pass(1_000);
  await run.create({ steps: { a: locked("y") } }, "later");
  expect(await holders(run, "x")).toEqual(["holdsx/a"]);
  expect(await holders(run, "y")).toEqual([]);
  expect(await phase(run, "later")).toBe("Waiting");
  await end(run, "holdsx");
  expect([await holders(run, "x"), await holders(run, "y")]).toEqual([["both/a"], ["both/a"]]);
  await end(run, "both");
  expect(await holders(run, "y")).toEqual(["later/a"]);
});

test("a lock is held through retries, and given back when the step has failed for good", async () => {
  const run = start();
  await run.create({ steps: { a: { ...locked("db"), retry: { limit: 1, initialSeconds: 10 } } } });
  await run.create({ steps: { a: locked("db") } }, "other");
  await run.end("a", { exitCode: 1 });
  expect(await run.phases()).toEqual({ a: "Waiting/Backoff" });
  expect(await holders(run, "db")).toEqual(["wf/a"]);
  await run.pass(15_000);
  await run.end("a", { exitCode: 1 });
  expect(await holders(run, "db")).toEqual(["other/a"]);
});

test("each item of a fan-out takes the lock for itself", async () => {
  const run = start();
  await writeLimit(run, "api", 2);
  await run.create({ steps: { a: { ...locked("api"), forEach: { items: ["p", "q", "r"] } } } });
  expect(await holders(run, "api")).toEqual(["wf/a/0", "wf/a/1"]);
  expect((await run.status()).statuses?.["a"]?.items?.states).toBe("2A1P");
  await run.endItem("a", 0);
  expect(await holders(run, "api")).toEqual(["wf/a/1", "wf/a/2"]);
  await run.endItem("a", 1);
  await run.endItem("a", 2);
  expect((await run.status()).phase).toBe("Succeeded");
  expect(await holders(run, "api")).toEqual([]);
});

test("a fan-out whose items wait for others' locks says so", async () => {
  const run = start();
  await run.create({ steps: { a: locked("api") } }, "other");
  await run.create({ steps: { a: { ...locked("api"), forEach: { items: [1, 2] } } } });
  await run.pass(2_000);
  expect((await run.status()).statuses?.["a"]).toMatchObject({
    phase: "Running",
    reason: "Lock",
    message: 'lock "api" is held by other/a',
  });
  await end(run, "other");
  expect((await run.status()).statuses?.["a"]).not.toHaveProperty("message");
});

const cancel = (run: Harness): Promise<void> => run.act("cancel");
const remove = async (run: Harness): Promise<void> => {
  await run.store.delete({ type: Workflow, namespace, name: "wf" });
};

test.each([
  ["canceled", cancel],
  ["deleted", remove],
] as const)("the lock of a workflow that is %s goes to the next", async (_what, end) => {
  const run = start();
  await run.create({ steps: { a: locked("db") } });
  await run.create({ steps: { a: locked("db") } }, "next");
  await end(run);
  await run.pass(40_000);
  expect(await holders(run, "db")).toEqual(["next/a"]);
});

test("a workflow that is suspended, or has no slot, takes no lock", async () => {
  const run = start();
  await run.create({ parallelism: 1, steps: { a: job(), b: locked("db") } });
  expect(await run.active()).toEqual(["a"]);
  await run.create({ steps: { a: locked("db") } }, "other");
  expect(await holders(run, "db")).toEqual(["other/a"]);
  await end(run, "other");
  await run.edit({ suspend: true });
  await end(run, "wf");
  expect(await holders(run, "db")).toEqual([]);
  await run.edit({ suspend: false });
  expect(await holders(run, "db")).toEqual(["wf/b"]);
});

test("a retried run takes its locks anew", async () => {
  const run = start();
  await run.create({ steps: { a: locked("db") } });
  await run.end("a", { exitCode: 1 });
  await run.create({ steps: { a: locked("db") } }, "other");
  await run.act("retry");
  expect(await run.phases()).toEqual({ a: "Waiting/Lock" });
  await end(run, "other");
  const [holder] = (await limitOf(run, "db")).status?.holders ?? [];
  expect(holder).toMatchObject({ name: "wf", runNumber: 2, step: "a" });
});

test("locks that are edited away while a step waits for them keep it no longer", async () => {
  const run = start();
  await run.create({ steps: { a: locked("db") } }, "other");
  await run.create({ steps: { a: locked("db") } });
  await run.edit({ steps: { a: { locks: null } } });
  expect(await run.phases()).toEqual({ a: "Starting" });
});

test("a limit in use that is deleted goes with its last holder; who waits gets what is made after it", async () => {
  const run = start();
  await writeLimit(run, "db", 1);
  await run.create({ steps: { a: locked("db") } }, "one");
  await run.create({ steps: { a: locked("db") } }, "two");
  const { metadata } = await limitOf(run, "db");
  await run.store.delete({ type: ConcurrencyLimit, namespace, name: "db" });
  await run.settle();
  expect(await holders(run, "db")).toEqual(["one/a"]);
  await end(run, "one");
  expect(await holders(run, "db")).toEqual(["two/a"]);
  expect((await limitOf(run, "db")).metadata.uid).not.toBe(metadata.uid);
});

test("a limit nobody has written goes when it was not used for a while; one that somebody has written stays", async () => {
  const run = start();
  await writeLimit(run, "kept", 1);
  await run.create({ steps: { a: locked("made"), b: locked("kept") } });
  await run.endAll();
  await run.pass(590_000);
  expect((await run.store.list(ConcurrencyLimit, { namespace })).items).toHaveLength(2);
  await run.pass(30_000);
  expect((await run.store.list(ConcurrencyLimit, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual([
    "kept",
  ]);
});

test("final steps take locks as well, and approvals hold theirs while people are asked", async () => {
  const run = start();
  await run.create({ steps: { a: { approval: {}, ...locks("window") } }, finally: { last: locked("window") } });
  expect(await run.phases()).toEqual({ a: "Suspended" });
  expect(await holders(run, "window")).toEqual(["wf/a"]);
  await run.act("approve", { step: "a" });
  expect(await holders(run, "window")).toEqual(["wf/last"]);
});

test("how long locks were waited for is measured", async () => {
  const metrics = new Metrics();
  const run = start({ metrics });
  await run.create({ steps: { a: locked("db") } }, "one");
  await run.create({ steps: { a: locked("db") } }, "two");
  await run.pass(5_000);
  await end(run, "one");
  const family = metrics.collect().find(({ name }) => name === "slipway_workflow_lock_wait_seconds");
  expect(family).toMatchObject({ distributions: [{ sum: 5 }] });
});
