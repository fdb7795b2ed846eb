import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import type { PodObject, PodPhase, PodStatus } from "../pod-types.ts";
import type { Container } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import type { ContainerView, Current } from "./container-view.ts";
import { plainHealth } from "./health-keeper.ts";
import { backoffDelay, calmAfter, planPod, type PodPlan } from "./plan-pod.ts";
import { podStatus } from "./pod-status.ts";

const begin = Date.UTC(2026, 0, 1);

interface Shape {
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly inits: number;
  readonly sidecars: number;
  readonly mains: number;
  readonly deadline: number | undefined;
}

type Action =
  | { readonly do: "exit"; readonly choice: number; readonly code: number }
  | { readonly do: "wait"; readonly time: number }
  | { readonly do: "delete"; readonly grace: number };

const shape = fc.record({
  restartPolicy: fc.constantFrom<Shape["restartPolicy"]>("Always", "OnFailure", "Never"),
  inits: fc.nat({ max: 2 }),
  sidecars: fc.nat({ max: 2 }),
  mains: fc.integer({ min: 1, max: 2 }),
  deadline: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("exit" as const), choice: fc.nat(5), code: fc.constantFrom(0, 0, 1, 137) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      time: fc.constantFrom(0, 1_000, 15_000, 300_000, calmAfter),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), grace: fc.constantFrom(0, 5, 30) }) },
);

/** A kubelet that does what plans say, on a machine whose containers end when a test says so. */
class World {
  now = begin;
  pod: PodObject;
  readonly #containers: readonly { readonly container: Container; readonly isInit: boolean }[];
  readonly #current = new Map<string, { restart: number; current: Current }>();
  readonly #calm = new Map<string, number>();
  /** `name/restart`, in the order of their starts. */
  readonly starts: string[] = [];
  readonly phases: PodPhase[] = [];
  readonly #exits = new Map<string, number>();

  constructor({ restartPolicy, inits, sidecars, mains, deadline }: Shape) {
    const several = (length: number, name: string, more: Partial<Container> = {}) =>
      Array.from(
        { length },
        (_, index): Container => ({ name: `${name}${index}`, image: "x", command: ["x"], ...more }),
      );
    // Some sidecars come before the ordinary init containers, some after.
    const [first, ...rest] = several(sidecars, "aside", { restartPolicy: "Always" });
    const initContainers = [...(first === undefined ? [] : [first]), ...several(inits, "init"), ...rest];
    const containers = several(mains, "main");
    this.#containers = [
      ...initContainers.map((container) => ({ container, isInit: true })),
      ...containers.map((container) => ({ container, isInit: false })),
    ];
    const base = shellPod("p", "true", {
      restartPolicy,
      initContainers,
      containers,
      terminationGracePeriodSeconds: 10,
      ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
    });
    this.pod = { ...base, metadata: { ...base.metadata, uid: "u" }, status: {} };
  }

  get views(): readonly ContainerView[] {
    return this.#containers.map(({ container, isInit }) => {
      const { restart = 0, current = { kind: "none" } } = this.#current.get(container.name) ?? {};
      return { container, isInit, restart, current, previous: undefined };
    });
  }

  plan(): PodPlan {
    const obstacles = { acceptedAt: begin, blocked: new Map<string, never>(), calmSince: this.#calm };
    return planPod(this.pod, this.views, obstacles, this.now);
  }

  /** Passes as long as they start or end something, as every such change asks for the next one. */
  pass(): void {
    for (let plan = this.#passOnce(); plan.start.length + plan.stop.length > 0; ) plan = this.#passOnce();
  }

  /** What the plan starts runs at once; what it stops ends with 143. */
  #passOnce(): PodPlan {
    const plan = this.plan();
    for (const { view, restart } of plan.start) {
      const { name } = view.container;
      this.starts.push(`${name}/${restart}`);
      this.#current.set(name, {
        restart,
        current: { kind: "running", startedAt: this.now, taskId: `${name}/${restart}` },
      });
    }
    for (const { view } of plan.stop) this.#end(view.container.name, 143);
    const next = this.plan();
    const status = podStatus({
      pod: this.pod,
      views: this.views,
      plan: next,
      runtimeName: "fake",
      address: "127.0.0.1",
      healthOf: () => plainHealth,
      acceptedAt: begin,
      now: this.now,
    });
    this.#check(next, status);
    if (status.phase !== undefined) this.phases.push(status.phase);
    this.pod = { ...this.pod, status };
    return plan;
  }

  act(step: Action): void {
    if (step.do === "wait") this.now += step.time;
    else if (step.do === "delete") this.#delete(step.grace);
    else {
      const running = this.views.filter(({ current }) => current.kind === "running");
      const chosen = running[step.choice % Math.max(1, running.length)];
      if (chosen !== undefined) this.#end(chosen.container.name, step.code);
    }
  }

  /** Exit code of the newest execution. */
  exitOf(name: string): number | undefined {
    return this.#exits.get(name);
  }

  #delete(grace: number): void {
    if (this.pod.metadata.deletionTimestamp !== undefined) return;
    const deletionTimestamp = formatTime(this.now + grace * 1_000);
    this.pod = {
      ...this.pod,
      metadata: { ...this.pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: grace },
    };
  }

  #end(name: string, exitCode: number): void {
    const found = this.#current.get(name);
    if (found?.current.kind !== "running") return;
    const ranFor = this.now - found.current.startedAt;
    if (ranFor >= calmAfter) this.#calm.set(name, found.restart + 1);
    this.#exits.set(name, exitCode);
    const terminated = { exitCode, finishedAt: formatTime(this.now) };
    this.#current.set(name, { restart: found.restart, current: { kind: "ended", terminated, at: this.now, ranFor } });
  }

  /** What holds of every status, whatever happened before. */
  #check(plan: PodPlan, status: PodStatus): void {
    const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const { state, ready } of all) {
      expect(Object.keys(state)).toHaveLength(1);
      if (state.waiting !== undefined) expect(ready).toBe(false);
    }
    const isOver = status.phase === "Succeeded" || status.phase === "Failed";
    if (isOver) {
      expect(this.views.some(({ current }) => current.kind === "running")).toBe(false);
      expect(all.some(({ state }) => state.waiting?.reason === "ContainerCreating")).toBe(false);
      expect(plan.start).toEqual([]);
      for (const type of ["Ready", "ContainersReady"]) {
        expect(status.conditions?.find((one) => one.type === type)?.status).toBe("False");
      }
    } else {
      expect(status.containerStatuses).toHaveLength(this.#containers.filter(({ isInit }) => !isInit).length);
    }
    if (plan.wakeAt !== undefined) expect(plan.wakeAt).toBeGreaterThan(this.now);
  }
}

function policyOf({ restartPolicy }: Shape, name: string): Shape["restartPolicy"] {
  if (name.startsWith("aside")) return "Always";
  return name.startsWith("init") && restartPolicy === "Always" ? "OnFailure" : restartPolicy;
}

test("whatever ends whenever: order, policy and phases of a pod are kept, and an end is for ever", () => {
  fc.assert(
    fc.property(shape, fc.array(action, { maxLength: 30 }), (given, actions) => {
      const world = new World(given);
      world.pass();
      for (const step of actions) {
        const wasOver = ["Succeeded", "Failed"].includes(world.pod.status?.phase ?? "");
        const wasDeleted = world.pod.metadata.deletionTimestamp !== undefined;
        const before = world.starts.length;
        const codes = new Map(world.views.map(({ container }) => [container.name, world.exitOf(container.name)]));
        world.act(step);
        const ended = new Map(world.views.map(({ container }) => [container.name, world.exitOf(container.name)]));
        world.pass();
        for (const start of world.starts.slice(before)) {
          const [name = "", restart] = start.split("/");
          expect(wasOver || wasDeleted).toBe(false);
          // Only a failure, or a policy of Always, leads to another execution.
          if (restart !== "0") {
            const code = ended.get(name) ?? codes.get(name);
            expect(policyOf(given, name)).not.toBe("Never");
            if (policyOf(given, name) === "OnFailure") expect(code).not.toBe(0);
          }
          // Whoever starts after an init container starts after its success, and after a sidecar has been started.
          const position = world.views.findIndex(({ container }) => container.name === name);
          for (const { container, isInit } of world.views.slice(0, position)) {
            if (isInit && container.restartPolicy === undefined) expect(world.exitOf(container.name)).toBe(0);
            else if (isInit) expect(world.starts).toContain(`${container.name}/0`);
          }
          // Sidecars serve the others, and nobody else.
          const others = world.views.filter(({ isInit }) => !isInit).map(({ container }) => container.name);
          const isDone = (other: string) => {
            const code = world.exitOf(other);
            return (
              code !== undefined &&
              (given.restartPolicy === "Never" || (given.restartPolicy === "OnFailure" && code === 0))
            );
          };
          if (name.startsWith("aside") && restart !== "0") expect(others.every(isDone)).toBe(false);
        }
      }
      // No execution is started twice, and their numbers have no gaps.
      expect(new Set(world.starts).size).toBe(world.starts.length);
      for (const { container } of world.views) {
        const own = world.starts.filter((start) => start.startsWith(`${container.name}/`));
        expect(own).toEqual(own.map((_, restart) => `${container.name}/${restart}`));
      }
      const story = world.phases.filter((phase, index) => phase !== world.phases[index - 1]).join(" ");
      expect(story).toMatch(/^(Pending)? ?(Running)? ?(Succeeded|Failed)?$/);
    }),
    { numRuns: runs(400) },
  );
});

test("a pod that is left alone comes to the same end however often it is looked at", () => {
  fc.assert(
    fc.property(shape, fc.array(action, { maxLength: 12 }), (given, actions) => {
      const once = new World(given);
      const often = new World(given);
      for (const step of actions) {
        once.act(step);
        often.act(step);
        once.pass();
        for (let time = 0; time < 3; time++) often.pass();
      }
      // A pass that finds more to do than another did not do twice what that one did.
      for (let time = 0; time < 6; time++) {
        once.pass();
        often.pass();
      }
      expect(once.pod.status).toEqual(often.pod.status);
    }),
    { numRuns: runs(150) },
  );
});

test("waits grow and never fall, up to five minutes", () => {
  fc.assert(
    fc.property(fc.nat({ max: 10_000 }), (restart) => {
      expect(backoffDelay(restart + 1)).toBeGreaterThanOrEqual(backoffDelay(restart));
      expect(backoffDelay(restart)).toBeLessThanOrEqual(300_000);
    }),
  );
});
