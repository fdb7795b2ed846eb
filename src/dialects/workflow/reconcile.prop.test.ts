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
import { CacheEntry } from "./cache/kind.ts";
import { Workflow, type WorkflowSpec, type WorkflowStep } from "./kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { ConcurrencyLimit } from "./locks/kind.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";
import { Harness, namespace } from "./testing/harness.ts";

interface Scenario {
  readonly spec: WorkflowSpec;
  /** How many attempts of a step fail before one succeeds. */
  readonly failures: Readonly<Record<string, number>>;
}

// Finished Jobs are deleted at once: a controller that acts on an old state would make them again, and be caught.
const jobStep = (dependencies: readonly string[], limit: number): WorkflowStep => ({
  dependencies,
  retry: { limit, initialSeconds: 1, factor: 1 },
  jobTemplate: {
    spec: {
      ttlSecondsAfterFinished: 0,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } },
    },
  },
});

const scenario: fc.Arbitrary<Scenario> = fc
  .array(
    fc.record({
      edges: fc.array(fc.nat(), { maxLength: 3 }),
      limit: fc.integer({ min: 0, max: 2 }),
      failures: fc.constantFrom(0, 0, 0, 1, 2),
      always: fc.constantFrom(false, false, false, true),
      isCached: fc.boolean(),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((drawn) => {
    const keys = drawn.map((_, index) => `s${index}`);
    const steps = drawn.map(({ edges, limit, always, isCached }, index): [string, WorkflowStep] => {
      const dependencies = index === 0 ? [] : [...new Set(edges.map((edge) => `s${edge % index}`))];
      const gate = always ? { when: "always()" } : {};
      // Each has a key of its own: what one step gives settles no other.
      const cache = isCached ? { cache: { key: `k${index}` } } : {};
      return [`s${index}`, { ...jobStep(dependencies, limit), ...gate, ...cache }];
    });
    return {
      spec: { steps: Object.fromEntries(steps), finally: { last: jobStep([], 1) } },
      failures: Object.fromEntries(keys.map((key, index) => [key, drawn[index]?.failures ?? 0])),
    };
  });

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

/** Counts the Jobs that were really created, by name. */
function counting(store: MemoryClient, created: Map<string, number>): ApiClient {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "create") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<MemoryClient["create"]>) => {
        const stored = await target.create(...args);
        if (args[0].kind === Job.kind) created.set(stored.metadata.name, (created.get(stored.metadata.name) ?? 0) + 1);
        return stored;
      };
    },
  });
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

interface Outcome {
  readonly phase: string | undefined;
  readonly steps: Readonly<Record<string, string>>;
}

async function outcomeOf(run: Harness): Promise<Outcome> {
  const { phase, statuses = {} } = await run.status();
  const steps = Object.entries(statuses).map(([key, entry]) => [key, `${entry.phase} after ${entry.attempt}`] as const);
  return { phase, steps: Object.fromEntries(steps) };
}

const endOf =
  ({ failures }: Scenario) =>
  (step: string, attempt: number) => ({
    exitCode: attempt <= (failures[step] ?? 0) ? 1 : 0,
  });

/** Plays on without disturbance until the workflow has ended. */
async function playOut(run: Harness, story: Scenario): Promise<Outcome> {
  for (let round = 0; round < 100; round++) {
    await run.endAll(endOf(story));
    const { phase } = await run.status();
    if (phase !== undefined && isTerminal(phase)) return await outcomeOf(run);
    await run.pass(2_000);
  }
  throw new Error("the workflow does not come to its end");
}

async function undisturbed(story: Scenario): Promise<Outcome> {
  const run = new Harness();
  await run.create(story.spec);
  const outcome = await playOut(run, story);
  await run.close();
  return outcome;
}

/** What happens between two looks at the run. */
const disturbance = fc.record({
  /** The process dies, and another one takes over. */
  crash: fc.constantFrom(false, false, true),
  /** So many of the active Jobs end. */
  ends: fc.nat(2),
  ms: fc.constantFrom(0, 20, 300, 1_500),
});

/** The answer to a creation was lost, and the child was found again before the mirror showed it. */
const foundBefore: [Scenario, { crash: boolean; ends: number; ms: number }[], number] = [
  { spec: { steps: { s0: jobStep([], 0) }, finally: { last: jobStep([], 1) } }, failures: { s0: 0 } },
  [
    { crash: true, ends: 0, ms: 0 },
    { crash: false, ends: 0, ms: 300 },
  ],
  1_963_592_469,
];

test("whatever fails, breaks, dies or is late: one child per attempt, and the end an undisturbed run comes to (30-32)", async () => {
  await fc.assert(
    fc.asyncProperty(
      scenario,
      fc.array(disturbance, { maxLength: 25 }),
      fc.nat(),
      async (story, disturbances, seed) => {
        const clock = new FakeClock();
        const store = memoryClient({
          clock,
          types: [Workflow, ScheduledWorkflow, RunAction, ConcurrencyLimit, CacheEntry],
        });
        const created = new Map<string, number>();
        const random = seededRandom(seed);
        const boot = () => {
          const chaos: ChaosClient = chaosClient(counting(store, created), { clock, random, faults });
          const { client, kill } = mortal(chaos);
          return { run: new Harness({ store, clock, wrap: () => client }), chaos, kill };
        };
        let process = boot();
        await process.run.create(story.spec);
        for (const { crash, ends, ms } of disturbances) {
          await process.run.pass(ms);
          for (const step of (await process.run.active()).slice(0, ends)) {
            const attempt = Number((await process.run.jobOf(step)).metadata.labels?.["slipway.dev/attempt"]);
            await process.run.end(step, endOf(story)(step, attempt));
          }
          if (!crash) continue;
          process.kill();
          await process.run.close();
          process = boot();
        }
        process.chaos.setFaults();
        const outcome = await playOut(process.run, story);
        await process.run.close();
        expect(outcome).toEqual(await undisturbed(story));
        expect([...created.values()].filter((count) => count > 1)).toEqual([]);
        // No result is kept of a step that has not succeeded, however it came about.
        const { items: entries } = await store.list<CacheEntry>(CacheEntry, { namespace });
        for (const { spec } of entries) expect(outcome.steps[spec.from.step]).toMatch(/^Succeeded/);
      },
    ),
    { numRuns: runs(30), examples: [foundBefore] },
  );
});

test("a workflow that has ended is not run again by a controller that starts with an old view of it", async () => {
  const clock = new FakeClock();
  const store = memoryClient({ clock, types: [Workflow, ScheduledWorkflow, RunAction, ConcurrencyLimit, CacheEntry] });
  const created = new Map<string, number>();
  const first = new Harness({ store, clock, wrap: () => counting(store, created) });
  await first.create({ steps: { a: jobStep([], 0) } });
  const old = await first.workflow();
  expect(old.status?.statuses?.["a"]?.phase).toBe("Starting");
  await first.end("a");
  await first.pass(1_000);
  expect(await first.jobs()).toEqual([]);
  await first.close();
  // Its mirror shows the workflow as it was before the step had ended; what it asks for live is the truth.
  const stale = new Proxy(counting(store, created), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "watch") return typeof value === "function" ? value.bind(target) : value;
      return async function* (...args: Parameters<ApiClient["watch"]>) {
        for await (const event of target.watch(...args))
          yield event.type !== "BOOKMARK" && event.object.kind === "Workflow" ? { ...event, object: old } : event;
      };
    },
  });
  const second = new Harness({ store, clock, wrap: () => stale });
  await second.pass(60_000);
  expect([...created.values()]).toEqual([1]);
  expect((await second.status()).phase).toBe("Succeeded");
  await second.close();
});
