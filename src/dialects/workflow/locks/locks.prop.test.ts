import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, SlipwayError } from "#lib/base/index.ts";
import { isTerminal } from "#engine/index.ts";
import { type ApiClient } from "#kernel/kit/index.ts";
import {
  type MemoryClient,
  memoryClient,
  type ChaosClient,
  chaosClient,
  seededRandom,
} from "#kernel/kit/testing/index.ts";
import { Job } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { CacheEntry } from "../cache/kind.ts";
import { Workflow, type WorkflowSpec, type WorkflowStep } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { ScheduledWorkflow } from "../schedule/kind.ts";
import { Harness, job, namespace } from "../testing/harness.ts";
import { ConcurrencyLimit } from "./kind.ts";

const lockNames = ["x", "y", "z"] as const;

/** Steps of one workflow in a row or side by side, each with some locks, some with items or a retry. */
const workflow: fc.Arbitrary<WorkflowSpec> = fc
  .array(
    fc.record({
      locks: fc.subarray([...lockNames], { maxLength: 2 }),
      isAfter: fc.boolean(),
      items: fc.constantFrom(undefined, undefined, [1, 2]),
      retry: fc.constantFrom(0, 1),
      priority: fc.integer({ min: -1, max: 1 }),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((drawn) => ({
    steps: Object.fromEntries(
      drawn.map(({ locks, isAfter, items, retry, priority }, index): [string, WorkflowStep] => [
        `s${index}`,
        job({
          locks: locks.map((name) => ({ name })),
          priority,
          retry: { limit: retry, initialSeconds: 1, factor: 1 },
          ...(isAfter && index > 0 ? { dependencies: [`s${index - 1}`] } : {}),
          ...(items === undefined ? {} : { forEach: { items } }),
        }),
      ]),
    ),
  }));

/** Some of them share a key. */
const specs: fc.Arbitrary<readonly WorkflowSpec[]> = fc.array(
  fc
    .tuple(
      workflow,
      fc.constantFrom(undefined, undefined, "Queue" as const, "CancelRunning" as const, "CancelNew" as const),
    )
    .map(([spec, onConflict]) =>
      onConflict === undefined ? spec : { ...spec, concurrency: { key: "k", onConflict } },
    ),
  { minLength: 2, maxLength: 4 },
);

const disturbance = fc.record({
  crash: fc.constantFrom(false, false, true),
  ends: fc.nat(2),
  fails: fc.boolean(),
  act: fc.constantFrom(undefined, undefined, undefined, "cancel" as const, "retry" as const, "delete" as const),
  pick: fc.nat(2),
  ms: fc.constantFrom(0, 20, 300, 1_500),
});

type Disturbance = typeof disturbance extends fc.Arbitrary<infer T> ? T : never;
const still: Disturbance = { crash: false, ends: 0, fails: false, act: undefined, pick: 1, ms: 0 };
const one: WorkflowSpec = {
  steps: { s0: job({ locks: [], priority: 0, retry: { limit: 0, initialSeconds: 1, factor: 1 } }) },
};

/** Stories that were found and mended. A workflow went while an action for it was on its way, which nobody answered then. */
const found: [WorkflowSpec[], Disturbance[], number][] = [
  [
    [one, one],
    [
      { ...still, ms: 300 },
      { ...still, act: "delete" },
      { ...still, act: "cancel" },
    ],
    0,
  ],
];

/** A connection that can be cut for good, as by the death of the process that holds it. */
function mortal(client: ApiClient) {
  const state = { isDead: false };
  const guarded = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]): unknown => {
        if (state.isDead) throw new SlipwayError("connection-failed", "the process is dead");
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { client: guarded, kill: () => void (state.isDead = true) };
}

const faults = {
  conflict: 0.05,
  tooMany: 0.03,
  internal: 0.03,
  lostAnswer: 0.08,
  expired: 0.05,
  latency: 0.3,
  endedWatch: 0.03,
  brokenWatch: 0.03,
  duplicateEvent: 0.1,
};

/** What the steps of all workflows have a living Job for, by lock; each Job once. */
async function workOf(store: MemoryClient): Promise<ReadonlyMap<string, readonly string[]>> {
  const work = new Map<string, string[]>();
  const { items: workflows } = await store.list<Workflow>(Workflow, { namespace });
  for (const { metadata, status } of (await store.list(Job, { namespace })).items) {
    if (status !== undefined || metadata.deletionTimestamp !== undefined) continue;
    const owner = workflows.find(({ metadata: { uid } }) => uid === metadata.labels?.["slipway.dev/workflow-uid"]);
    const step = metadata.labels?.["slipway.dev/step"] ?? "";
    for (const { name } of owner?.spec.steps?.[step]?.locks ?? [])
      work.set(name, [...(work.get(name) ?? []), metadata.name]);
  }
  return work;
}

/** Names of the workflows with the key that have a living Job. */
async function workWithKey(store: MemoryClient): Promise<ReadonlySet<string>> {
  const { items } = await store.list<Workflow>(Workflow, { namespace });
  const keyed = new Map(
    items.flatMap(({ metadata, spec }) => (spec.concurrency ? [[metadata.uid, metadata.name]] : [])),
  );
  const jobs = (await store.list(Job, { namespace })).items.filter(
    ({ metadata, status }) => status === undefined && metadata.deletionTimestamp === undefined,
  );
  return new Set(jobs.flatMap(({ metadata }) => keyed.get(metadata.labels?.["slipway.dev/workflow-uid"] ?? "") ?? []));
}

const placesOf = { x: 1, y: 2, z: 1 } as const;

async function checkLocks(store: MemoryClient): Promise<void> {
  const work = await workOf(store);
  for (const name of lockNames) expect((work.get(name) ?? []).length).toBeLessThanOrEqual(placesOf[name]);
  expect((await workWithKey(store)).size).toBeLessThanOrEqual(1);
  for (const { metadata, status } of (await store.list<ConcurrencyLimit>(ConcurrencyLimit, { namespace })).items) {
    const places = lockNames.find((name) => name === metadata.name);
    expect(status?.holders?.length ?? 0).toBeLessThanOrEqual(places === undefined ? 1 : placesOf[places]);
  }
}

test("whatever crashes, fails or is late: never more work under a lock than it has places, and every run and every hold ends", async () => {
  await fc.assert(
    fc.asyncProperty(specs, fc.array(disturbance, { maxLength: 20 }), fc.nat(), async (drawn, disturbances, seed) => {
      const clock = new FakeClock();
      const store = memoryClient({
        clock,
        types: [Workflow, ScheduledWorkflow, RunAction, ConcurrencyLimit, CacheEntry],
      });
      const limit = { apiVersion: "slipway.dev/v1alpha1", kind: "ConcurrencyLimit", spec: { limit: placesOf.y } };
      await store.create(ConcurrencyLimit, { ...limit, metadata: { name: "y", namespace } });
      const random = seededRandom(seed);
      const boot = () => {
        const chaos: ChaosClient = chaosClient(store, { clock, random, faults });
        const { client, kill } = mortal(chaos);
        return { run: new Harness({ store, clock, wrap: () => client }), chaos, kill };
      };
      let process = boot();
      for (const [index, spec] of drawn.entries()) await process.run.create(spec, `w${index}`);
      for (const { crash, ends, fails, act, pick, ms } of disturbances) {
        await process.run.pass(ms);
        await checkLocks(store);
        for (let count = 0; count < ends; count++) await endOne(process.run, fails);
        const name = `w${pick % drawn.length}`;
        const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name };
        if (act === "delete") await store.delete({ type: Workflow, namespace, name }).catch(() => undefined);
        else if (act !== undefined)
          await process.run.act(act, { target }, `${act}-${clock.now()}-${random()}`.toLowerCase());
        await checkLocks(store);
        if (!crash) continue;
        process.kill();
        await process.run.close();
        process = boot();
      }
      process.chaos.setFaults();
      await playOut(process.run, store);
      await process.run.pass(2_000);
      for (const { status } of (await store.list<ConcurrencyLimit>(ConcurrencyLimit, { namespace })).items)
        expect(status?.holders ?? []).toEqual([]);
      await process.run.close();
    }),
    { numRuns: runs(30), examples: found },
  );
});

/** Ends the oldest active Job, if there is one. */
async function endOne(run: Harness, fails: boolean): Promise<boolean> {
  const found = (await run.jobs()).find(
    ({ status, metadata }) => status === undefined && metadata.deletionTimestamp === undefined,
  );
  if (found === undefined) return false;
  const type = fails ? "Failed" : "Complete";
  await run.store.updateStatus(Job, { ...found, status: { conditions: [{ type, status: "True" }] } });
  await run.settle();
  return true;
}

/** Plays on without disturbance until every action is answered and every workflow has ended. */
async function playOut(run: Harness, store: MemoryClient): Promise<void> {
  for (let round = 0; round < 300; round++) {
    await checkLocks(store);
    const { items } = await store.list<Workflow>(Workflow, { namespace });
    const { items: actions } = await store.list<RunAction>(RunAction, { namespace });
    const isAnswered = actions.every(({ status }) => status?.finishTime !== undefined);
    if (isAnswered && items.every(({ status }) => status?.phase !== undefined && isTerminal(status.phase))) return;
    if (!(await endOne(run, false))) await run.pass(2_000);
  }
  throw new Error("the workflows do not come to their end");
}
