import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Informer, Metrics } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { conflict, type Stored } from "#kernel/model/index.ts";
import { Workflow, type WorkflowSpec, type WorkflowStatus } from "./kinds.ts";
import { countWorkflows, tallyIn } from "./metrics.ts";
import { Harness, job, namespace } from "./testing/harness.ts";

let clock: FakeClock;
let client: MemoryClient;
let metrics: Metrics;
let stop: AbortController;
let ended: Promise<void>;
let uncount: () => void;

const spec: WorkflowSpec = {
  steps: { a: job(), b: { container: { image: "x" } }, c: { wait: { seconds: 1 } } },
  finally: { z: job() },
};

beforeEach(async () => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [Workflow] });
  await mirror();
});
afterEach(async () => {
  stop.abort();
  await ended;
});

async function mirror(): Promise<void> {
  metrics = new Metrics();
  stop = new AbortController();
  const informer = new Informer<Workflow>({ client, type: Workflow, clock, log: silentLog, random: seededRandom(1) });
  uncount = countWorkflows(metrics, informer);
  ended = informer.run(stop.signal);
  await informer.synced(stop.signal);
}

const create = (name: string): Promise<Stored<Workflow>> =>
  client.create<Workflow>(Workflow, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name, namespace },
    spec,
  });

async function write(name: string, status: WorkflowStatus): Promise<void> {
  const now = await client.get<Workflow>({ type: Workflow, namespace, name });
  await client.updateStatus<Workflow>(Workflow, { ...now, status });
  await clock.advance(0);
}

/** Every sample as `name{values} number`; distributions as count and sum. */
const lines = (): readonly string[] =>
  metrics
    .collect()
    .flatMap((family) =>
      family.type === "histogram"
        ? family.distributions.map(({ buckets, sum }) => `${family.name} ${buckets.at(-1)?.count} ${sum}`)
        : family.samples.map(({ labels, value }) => `${family.name}{${Object.values(labels).join(",")}} ${value}`),
    )
    .map((line) => line.replace("slipway_workflow_", ""));

const succeeded: WorkflowStatus = {
  phase: "Succeeded",
  startTime: "2026-01-01T00:00:00Z",
  completionTime: "2026-01-01T00:01:30Z",
  statuses: {
    a: {
      phase: "Succeeded",
      startTime: "2026-01-01T00:00:02Z",
      readyTime: "2026-01-01T00:00:00Z",
      finishTime: "2026-01-01T00:01:00Z",
    },
    b: { phase: "Skipped", reason: "ConditionFalse", finishTime: "2026-01-01T00:00:00Z" },
    c: {
      phase: "Failed",
      reason: "DeadlineExceeded",
      startTime: "2026-01-01T00:00:00Z",
      finishTime: "2026-01-01T00:01:00Z",
    },
    z: { phase: "Succeeded", startTime: "2026-01-01T00:01:00Z", finishTime: "2026-01-01T00:01:30Z" },
    gone: { phase: "Canceled", finishTime: "2026-01-01T00:01:00Z" },
  },
};

test("a run is counted when it ends, with its steps by kind, outcome and reason", async () => {
  await create("run");
  await write("run", { phase: "Running", startTime: "2026-01-01T00:00:00Z" });
  expect(lines()).toEqual(["active_steps{} 0", "run_duration_seconds 0 0", "step_latency_seconds 0 0"]);
  await write("run", succeeded);
  expect(lines()).toEqual([
    "active_steps{} 0",
    "run_duration_seconds 1 90",
    "runs_total{Succeeded} 1",
    "step_latency_seconds 3 2",
    "steps_total{jobTemplate,Succeeded,} 2",
    "steps_total{container,Skipped,ConditionFalse} 1",
    "steps_total{wait,Failed,DeadlineExceeded} 1",
    "steps_total{other,Canceled,} 1",
  ]);
});

test("a run that is written again after its end is counted once, and one that is retried twice", async () => {
  await create("run");
  await write("run", succeeded);
  await write("run", { ...succeeded, message: "told again" });
  expect(lines()).toContain("runs_total{Succeeded} 1");
  const past = { runNumber: 1, phase: "Failed", completionTime: "2026-01-01T00:01:30Z" };
  const { completionTime: _none, ...again } = succeeded;
  await write("run", { ...again, phase: "Running", history: [past] });
  const last = { phase: "Succeeded", startTime: "2026-01-01T00:02:00Z", finishTime: "2026-01-01T00:03:00Z" } as const;
  const statuses = { ...succeeded.statuses, c: last };
  await write("run", { ...succeeded, completionTime: "2026-01-01T00:03:00Z", history: [past], statuses });
  expect(lines()).toContain("runs_total{Succeeded} 2");
  // Only the step that ran again is counted again.
  expect(lines()).toContain("steps_total{wait,Succeeded,} 1");
  expect(lines()).toContain("steps_total{jobTemplate,Succeeded,} 2");
});

test("what had ended before the mirror was read is not counted", async () => {
  await create("run");
  await write("run", succeeded);
  stop.abort();
  await ended;
  await mirror();
  expect(lines().filter((line) => line.startsWith("runs_total"))).toEqual([]);
});

test("steps of unfinished runs are active or wait for a reason", async () => {
  await create("one");
  await create("two");
  await create("done");
  await write("one", {
    phase: "Running",
    statuses: { a: { phase: "Running" }, b: { phase: "Waiting", reason: "Ready" }, c: { phase: "Cancelling" } },
  });
  await write("two", {
    phase: "Running",
    statuses: {
      a: { phase: "Starting" },
      b: { phase: "Waiting", reason: "Backoff" },
      c: { phase: "Waiting", reason: "Ready" },
    },
  });
  await write("done", { ...succeeded, statuses: { a: { phase: "Running" } } });
  expect(lines()).toContain("active_steps{} 3");
  expect(lines().filter((line) => line.startsWith("waiting"))).toEqual([
    "waiting_steps{Ready} 2",
    "waiting_steps{Backoff} 1",
  ]);
});

test("a clock that went back makes no time negative, and times that are none are left out", async () => {
  await create("back");
  await write("back", { ...succeeded, startTime: "2026-01-01T01:00:00Z", statuses: {} });
  await create("odd");
  await write("odd", { phase: "Failed", completionTime: "soon", statuses: {} });
  expect(lines()).toContain("run_duration_seconds 1 0");
  expect(lines()).toContain("runs_total{Failed} 1");
});

test("nothing is counted after the end", async () => {
  await create("run");
  uncount();
  await write("run", succeeded);
  expect(lines().filter((line) => line.startsWith("runs_total"))).toEqual([]);
});

test("the controllers of the dialect count their runs and what they reconcile", async () => {
  const counted = new Metrics();
  const run = new Harness({ metrics: counted });
  await run.create({ steps: { a: job(), b: job({ dependencies: ["a"] }) } });
  await run.end("a");
  await run.end("b", { exitCode: 1 });
  const samples = counted
    .collect()
    .flatMap((family) =>
      (family.type === "histogram" ? [] : [...family.samples]).map((sample) => ({ ...sample, name: family.name })),
    );
  const valueOf = (name: string, labels: object) =>
    samples.find(
      (sample) =>
        sample.name === `slipway_${name}` &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )?.value;
  expect(valueOf("workflow_runs_total", { outcome: "Failed" })).toBe(1);
  expect(valueOf("workflow_steps_total", { kind: "jobTemplate", outcome: "Succeeded" })).toBe(1);
  expect(valueOf("workflow_steps_total", { kind: "jobTemplate", outcome: "Failed" })).toBe(1);
  expect(valueOf("controller_reconciles_total", { controller: "workflow", outcome: "success" })).toBeGreaterThan(0);
  await run.close();
});

test("a status that somebody else has written meanwhile is counted as a conflict, and the run goes on", async () => {
  const counted = new Metrics();
  let left = 2;
  const run = new Harness({
    metrics: counted,
    wrap: (store) => {
      const update = store.updateStatus.bind(store);
      store.updateStatus = async (type, object, ...rest) => {
        if (type.kind === "Workflow" && left-- > 0) throw conflict(Workflow, "wf", "somebody wrote in between");
        return await update(type, object, ...rest);
      };
      return store;
    },
  });
  await run.create({ steps: { a: job() } });
  await run.pass(5_000);
  expect(await run.active()).toEqual(["a"]);
  expect(totals(counted)).toMatchObject({ status_conflicts: 2, stale_effects_prevented: 0 });
  await run.close();
});

test("what only the reconciler sees is counted under its own names", () => {
  const counted = new Metrics();
  const tally = tallyIn(counted);
  tally.ignoredFacts(3);
  tally.statusConflict();
  tally.staleEffectsPrevented();
  expect(totals(counted)).toEqual({ ignored_facts: 3, status_conflicts: 1, stale_effects_prevented: 1 });
});

/** The counters without labels of workflows, by the middle of their names. */
const totals = (counted: Metrics): Readonly<Record<string, number>> =>
  Object.fromEntries(
    counted.collect().flatMap(({ name, ...family }) => {
      const word = /^slipway_workflow_(\w+)_total$/.exec(name)?.[1];
      if (word === undefined || family.type === "histogram") return [];
      return family.samples.filter(({ labels }) => Object.keys(labels).length === 0).map(({ value }) => [word, value]);
    }),
  );
