import { afterEach, expect, test } from "vitest";
import { forbidden, Job } from "#kernel/model/index.ts";
import { type WorkflowSpec } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { Harness, job, namespace } from "../testing/harness.ts";
import { ConcurrencyLimit } from "./kind.ts";

let open: Harness | undefined;
function start(options: ConstructorParameters<typeof Harness>[0] = {}): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

type Concurrency = NonNullable<WorkflowSpec["concurrency"]>;

/** Creates workflows one second after the other, with one step and what is said here. */
async function create(
  run: Harness,
  name: string,
  more: Partial<Concurrency> = {},
  spec: WorkflowSpec = {},
): Promise<void> {
  await run.create({ steps: { a: job() }, ...spec, concurrency: { key: "prod", ...more } }, name);
  await run.pass(1_000);
}

/** Ends the only active Job of a workflow. */
async function end(run: Harness, workflow: string): Promise<void> {
  const found = (await run.jobs()).find(
    ({ metadata, status }) => status === undefined && metadata.labels?.["slipway.dev/workflow"] === workflow,
  );
  if (found === undefined) throw new Error(`${workflow} has no active Job`);
  await run.store.updateStatus(Job, { ...found, status: { conditions: [{ type: "Complete", status: "True" }] } });
  await run.settle();
}

const phases = async (run: Harness, ...names: string[]): Promise<readonly (string | undefined)[]> =>
  await Promise.all(names.map(async (name) => (await run.status(name)).phase));

test("workflows with one key run one after the other, oldest first; those with another are free", async () => {
  const run = start();
  for (const name of ["one", "two", "three"]) await create(run, name);
  await create(run, "other", { key: "test" });
  expect(await phases(run, "one", "two", "three", "other")).toEqual(["Running", "Pending", "Pending", "Running"]);
  expect(await run.status("three")).toMatchObject({
    reason: "Queued",
    message: 'concurrency key "prod" is held by one; place 2 in the queue',
    concurrency: { key: "prod", limit: 1 },
  });
  expect((await run.status("three")).startTime).toBeUndefined();
  expect(run.reasons()).toContain("LockWaiting");
  await end(run, "one");
  expect(await phases(run, "one", "two", "three")).toEqual(["Succeeded", "Running", "Pending"]);
  expect(await run.status("two")).not.toHaveProperty("message");
  await end(run, "two");
  await end(run, "three");
  expect(await phases(run, "three")).toEqual(["Succeeded"]);
});

test("the key is made from arguments, and a priority goes before age", async () => {
  const run = start();
  const spec = (env: string, priority = 0): WorkflowSpec => ({
    params: [{ name: "env" }],
    arguments: { env },
    priority,
  });
  const key = "deploy-${{ params.env }}";
  await create(run, "one", { key }, spec("prod"));
  await create(run, "test", { key }, spec("test"));
  await create(run, "two", { key }, spec("prod"));
  await create(run, "urgent", { key }, spec("prod", 10));
  expect(await phases(run, "one", "test", "two", "urgent")).toEqual(["Running", "Running", "Pending", "Pending"]);
  expect((await run.status("two")).concurrency?.key).toBe("deploy-prod");
  await end(run, "one");
  expect(await phases(run, "two", "urgent")).toEqual(["Pending", "Running"]);
});

test("with a limit of two, two run", async () => {
  const run = start();
  for (const name of ["one", "two", "three"]) await create(run, name, { limit: 2 });
  expect(await phases(run, "one", "two", "three")).toEqual(["Running", "Running", "Pending"]);
  const [limit] = (await run.store.list<ConcurrencyLimit>(ConcurrencyLimit, { namespace })).items;
  expect(limit).toMatchObject({ spec: { limit: 2, description: 'concurrency key "prod"' }, status: { held: 2 } });
});

test("CancelNew: what would have to wait is canceled before anything of it runs, final steps included", async () => {
  const run = start();
  await create(run, "one");
  await create(run, "two", { onConflict: "CancelNew" }, { finally: { last: job() } });
  expect(await run.status("two")).toMatchObject({
    phase: "Canceled",
    message: 'concurrency key "prod" is held by one (onConflict: CancelNew)',
  });
  expect(await run.jobs()).toHaveLength(1);
  await end(run, "one");
  await create(run, "three", { onConflict: "CancelNew" });
  expect(await phases(run, "three")).toEqual(["Running"]);
});

test("CancelRunning: the older one is canceled, its final steps run, then the new one begins", async () => {
  const run = start();
  await create(run, "one", {}, { finally: { last: job() } });
  await create(run, "two", { onConflict: "CancelRunning" });
  await run.pass(40_000);
  expect(await phases(run, "one", "two")).toEqual(["Cancelling", "Pending"]);
  await end(run, "one");
  expect(await phases(run, "one", "two")).toEqual(["Canceled", "Running"]);
  expect((await run.status("one")).statuses).toMatchObject({ a: { phase: "Canceled" }, last: { phase: "Succeeded" } });
  const actions = await run.store.list<RunAction>(RunAction, { namespace });
  expect(actions.items[0]?.spec.reason).toBe('workflow "two" replaces it (concurrency key "prod")');
});

test("CancelRunning: who was canceled and is retried takes its place back, as often as that is asked for", async () => {
  const run = start();
  await create(run, "one", { onConflict: "CancelRunning" });
  await create(run, "two", { onConflict: "CancelRunning" });
  await run.pass(40_000);
  for (const [name, other] of [
    ["one", "two"],
    ["two", "one"],
    ["one", "two"],
  ] as const) {
    await run.act("retry", { target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name } });
    await run.pass(40_000);
    expect(await phases(run, name, other)).toEqual(["Running", "Canceled"]);
  }
});

test("CancelRunning: of several that come at once only the last runs", async () => {
  const run = start();
  for (const name of ["one", "two", "three"]) await create(run, name, { onConflict: "CancelRunning" });
  await run.pass(90_000);
  expect(await phases(run, "one", "two", "three")).toEqual(["Canceled", "Canceled", "Running"]);
});

test("who may not cancel the others waits and says so", async () => {
  const run = start({
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...args: readonly unknown[]): unknown => {
            if (name === "create" && args[0] === RunAction)
              return Promise.reject(forbidden(RunAction, "x", "not allowed"));
            return Reflect.apply(value, target, args);
          };
        },
      }),
  });
  await create(run, "one");
  await create(run, "two", { onConflict: "CancelRunning" });
  await run.pass(65_000);
  expect(await phases(run, "one", "two")).toEqual(["Running", "Pending"]);
  expect((await run.status("two")).message).toMatch(/is held by one; .*may not cancel workflow "one": .*not allowed/);
});

test("a queued workflow can be canceled, suspended and deleted, and a retry waits for its turn again", async () => {
  const run = start();
  await create(run, "wf");
  await run.end("a", { exitCode: 1 });
  await create(run, "one");
  await run.act("retry");
  expect(await run.status()).toMatchObject({ phase: "Pending", runNumber: 2, reason: "Queued" });
  await run.act("cancel");
  expect(await phases(run, "wf")).toEqual(["Canceled"]);
  await create(run, "two");
  await run.edit({ suspend: true }, "two");
  expect(await phases(run, "two")).toEqual(["Suspended"]);
  await end(run, "one");
  expect(await phases(run, "two")).toEqual(["Suspended"]);
  await run.edit({ suspend: false }, "two");
  expect(await phases(run, "two")).toEqual(["Running"]);
});

test("a canceled workflow that is retried waits for its turn as well", async () => {
  const run = start();
  await create(run, "wf");
  await run.act("cancel");
  await run.pass(40_000);
  await create(run, "one");
  await run.act("retry");
  expect(await phases(run, "wf", "one")).toEqual(["Pending", "Running"]);
});

test("the deadline of a workflow does not count while it waits for its turn", async () => {
  const run = start();
  await create(run, "one");
  await create(run, "two", {}, { activeDeadlineSeconds: 30 });
  await run.pass(120_000);
  expect(await phases(run, "two")).toEqual(["Pending"]);
  await end(run, "one");
  await run.pass(10_000);
  expect(await phases(run, "two")).toEqual(["Running"]);
});

test("a key that has no value makes the workflow invalid", async () => {
  const run = start();
  await create(run, "wf", { key: "${{ params.none }}" }, { params: [{ name: "none" }] });
  const { conditions = [] } = await run.status();
  expect(conditions.find(({ type }) => type === "Invalid")?.message).toContain("spec.concurrency.key");
});

test("the limit of a key goes when it was not used for a while", async () => {
  const run = start();
  await create(run, "one");
  await end(run, "one");
  await run.pass(700_000);
  expect((await run.store.list(ConcurrencyLimit, { namespace })).items).toEqual([]);
});
