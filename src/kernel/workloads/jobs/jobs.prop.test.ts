import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import { isTrue } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import type { JobObject, JobSpec } from "../job-types.ts";
import { trackingFinalizer } from "../job-types.ts";
import { shellJob } from "../testing/index.ts";
import { formatIndexes, parseIndexes } from "./index-set.ts";
import { type JobPod, podFor } from "./job-pod.ts";
import { isOver, planJob } from "./plan-job.ts";

test("indexes survive being written and read", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat({ max: 60 })), (indexes) => {
      expect([...parseIndexes(formatIndexes(indexes))]).toEqual([...indexes].sort((a, b) => a - b));
    }),
  );
});

/**
 * A Job in a world that crashes: every action of a plan is carried out one by one, and before each of them the controller may
 * be gone and begin again from what is stored.
 */
class World {
  job: Stored<JobObject>;
  pods: JobPod[] = [];
  now = Date.UTC(2026, 0, 1);
  /** Every end of a pod that happened, for comparison with what was counted. */
  readonly ends = { succeeded: 0, failed: 0 };
  #uids = 0;

  constructor(completions: number, parallelism: number, backoffLimit: number, indexed: boolean) {
    const job = shellJob("j", "true", {
      completions,
      parallelism,
      backoffLimit,
      completionMode: indexed ? "Indexed" : "NonIndexed",
    });
    const server = { name: "j", uid: "u", resourceVersion: "1", creationTimestamp: formatTime(this.now) };
    this.job = { ...job, metadata: { ...job.metadata, ...server }, status: {} };
  }

  /** One reconcile that crashes after `steps` actions. */
  reconcile(steps: number): void {
    let left = steps;
    const act = (action: () => void) => {
      if (left-- > 0) action();
    };
    const plan = planJob(this.job, this.pods, this.now);
    for (const pod of plan.drop) {
      act(() => this.#release(pod));
      act(() => (this.pods = this.pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid)));
    }
    for (const pod of plan.remove) act(() => this.#delete(pod));
    for (const wanted of plan.create) act(() => this.#create(wanted));
    const fresh = planJob(this.job, this.pods, this.now);
    act(() => (this.job = { ...this.job, status: fresh.status }));
    for (const pod of planJob(this.job, this.pods, this.now).release) act(() => this.#release(pod));
  }

  /** What a person may change while the Job goes on. */
  change(spec: Pick<JobSpec, "parallelism" | "suspend">): void {
    this.job = { ...this.job, spec: { ...this.job.spec, ...spec } };
  }

  end(choice: number, phase: "Succeeded" | "Failed"): void {
    const open = this.pods.filter(({ status }) => status?.phase === "Running");
    const pod = open[choice % Math.max(1, open.length)];
    if (pod === undefined) return;
    const counts = pod.metadata.finalizers?.includes(trackingFinalizer) === true && !isOver(this.job);
    if (counts && pod.metadata.deletionTimestamp === undefined)
      this.ends[phase === "Succeeded" ? "succeeded" : "failed"]++;
    const terminated = { exitCode: phase === "Failed" ? 1 : 0, finishedAt: formatTime(this.now) };
    const [main] = pod.status?.containerStatuses ?? [];
    this.#replace({
      ...pod,
      status: { phase, ...(main === undefined ? {} : { containerStatuses: [{ ...main, state: { terminated } }] }) },
    });
  }

  /** Never more than may run at one time, whatever was changed and did not happen before. */
  #create(wanted: { index?: number }): void {
    const running = this.pods.filter(
      ({ status, metadata }) => status?.phase === "Running" && !metadata.deletionTimestamp,
    );
    expect(running.length).toBeLessThan(this.job.spec.parallelism ?? 1);
    const made = podFor(this.job, wanted);
    const uid = `p${this.#uids++}`;
    const metadata = {
      ...made.metadata,
      name: uid,
      uid,
      resourceVersion: "1",
      creationTimestamp: formatTime(this.now),
    };
    const status = {
      name: "main",
      state: {},
      lastState: {},
      ready: true,
      started: true,
      restartCount: 0,
      image: "",
      imageID: "",
    };
    this.pods.push({ ...made, metadata, status: { phase: "Running", containerStatuses: [status] } });
  }

  /** Deleted pods end as failed at once here. */
  #delete(pod: JobPod): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    if (pod.metadata.finalizers?.includes(trackingFinalizer) === true) this.ends.failed++;
    const metadata = { ...pod.metadata, deletionTimestamp: formatTime(this.now) };
    this.#replace({ ...pod, metadata, status: { ...pod.status, phase: "Failed" } });
  }

  #release(pod: JobPod): void {
    const { finalizers: _gone, ...metadata } = pod.metadata;
    if (pod.metadata.deletionTimestamp !== undefined) this.pods = this.pods.filter((one) => one !== pod);
    else this.#replace({ ...pod, metadata });
  }

  #replace(pod: JobPod): void {
    this.pods = this.pods.map((one) => (one.metadata.uid === pod.metadata.uid ? pod : one));
  }
}

const step = fc.record({
  crashAfter: fc.integer({ min: 0, max: 6 }),
  end: fc.option(
    fc.record({ choice: fc.nat({ max: 9 }), phase: fc.constantFrom("Succeeded" as const, "Failed" as const) }),
  ),
  seconds: fc.nat({ max: 900 }),
  change: fc.option(fc.record({ parallelism: fc.integer({ min: 1, max: 4 }), suspend: fc.boolean() })),
});

test("whatever crashes and whenever: ends are counted exactly once and the Job ends by its own rules", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat({ max: 3 }),
      fc.boolean(),
      fc.array(step, { maxLength: 60 }),
      (completions, parallelism, backoffLimit, indexed, steps) => {
        const world = new World(completions, parallelism, backoffLimit, indexed);
        for (const { crashAfter, end, seconds, change } of steps) {
          world.now += seconds * 1000;
          if (change !== null) world.change(change);
          if (end !== null) world.end(end.choice, end.phase);
          world.reconcile(crashAfter);
        }
        world.change({ suspend: false });
        // From here on nothing crashes: pods succeed and time passes until the Job is over.
        for (let round = 0; round < 60 && !isOver(world.job); round++) {
          world.now += 600_000;
          world.end(0, "Succeeded");
          world.reconcile(100);
        }
        for (let round = 0; round < 3; round++) world.reconcile(100);
        const status = world.job.status ?? {};
        expect(isOver(world.job)).toBe(true);
        expect(status.failed ?? 0).toBe(world.ends.failed);
        if (!indexed) expect(status.succeeded ?? 0).toBe(world.ends.succeeded);
        expect(status.uncountedTerminatedPods).toEqual({});
        expect(status.active).toBeUndefined();
        if (isTrue(status.conditions, "Complete")) expect(status.succeeded ?? 0).toBeGreaterThanOrEqual(completions);
        else expect(status.failed ?? 0).toBeGreaterThan(backoffLimit);
        expect(world.pods.some(({ metadata }) => metadata.finalizers !== undefined)).toBe(false);
      },
    ),
    { numRuns: runs(500) },
  );
});
