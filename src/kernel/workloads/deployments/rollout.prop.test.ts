import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime, type Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import type { DeploymentObject, DeploymentSpec, ReplicaSetObject } from "../deployment-types.ts";
import { planDeployment } from "./plan-deployment.ts";
import { rolloutBudget } from "./rollout-budget.ts";
import { availableOf, type OwnedSet, replicasOf, sum } from "./sizes.ts";

/** A Pod of the world below: it becomes ready some time after it was made, may fall back, and takes a while to end. */
interface SimulatedPod {
  readonly set: string;
  isReady: boolean;
  isEnding: boolean;
}

const template = (image: string): DeploymentSpec["template"] => ({
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "main", image }] },
});

/** One Deployment, its sets as a well-behaved ReplicaSet controller keeps them, and Pods that do what they like. */
class World {
  deployment: Stored<DeploymentObject>;
  sets: OwnedSet[] = [];
  pods: SimulatedPod[] = [];
  now: Instant = Date.UTC(2026, 0, 1);
  #born = 0;

  constructor(spec: Partial<DeploymentSpec>) {
    this.deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name: "web",
        namespace: "default",
        uid: "d",
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: formatTime(this.now),
      },
      spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template: template("one"), ...spec },
    };
  }

  change(spec: Partial<DeploymentSpec>): void {
    const { metadata } = this.deployment;
    const generation = (metadata.generation ?? 0) + 1;
    this.deployment = {
      ...this.deployment,
      metadata: { ...metadata, generation },
      spec: { ...this.deployment.spec, ...spec },
    };
  }

  /** One pass of the Deployment controller; true when it did anything. */
  plan(): boolean {
    const plan = planDeployment(this.deployment, this.sets, this.now);
    if (plan.create !== undefined) this.#add(plan.create);
    for (const { set, replicas, annotations, minReadySeconds } of plan.update)
      this.#replace(set, {
        ...set,
        metadata: { ...set.metadata, annotations, generation: (set.metadata.generation ?? 1) + 1 },
        spec: { ...set.spec, replicas, minReadySeconds },
      });
    this.sets = this.sets.filter((set) => !plan.remove.includes(set));
    this.deployment = { ...this.deployment, status: plan.status };
    return plan.create !== undefined || plan.update.length + plan.remove.length > 0;
  }

  #add(set: ReplicaSetObject): void {
    const born = formatTime(this.now + 1000 * this.#born++);
    const { name = "" } = set.metadata;
    expect(this.sets.map(({ metadata }) => metadata.name)).not.toContain(name);
    const metadata = { ...set.metadata, name, uid: name, resourceVersion: "1", generation: 1, creationTimestamp: born };
    this.sets.push({ ...set, metadata });
  }

  #replace(set: OwnedSet, next: OwnedSet): void {
    this.sets = this.sets.map((each) => (each === set ? next : each));
  }

  /** The ReplicaSet controller: as many Pods as wanted, the worst go first; then it counts. */
  count(): void {
    for (const set of this.sets) {
      const own = this.pods.filter((pod) => pod.set === set.metadata.name && !pod.isEnding);
      for (let missing = replicasOf(set) - own.length; missing > 0; missing--)
        this.pods.push({ set: set.metadata.name, isReady: false, isEnding: false });
      const surplus = [...own].sort((a, b) => Number(a.isReady) - Number(b.isReady));
      for (const pod of surplus.slice(0, Math.max(0, own.length - replicasOf(set)))) pod.isEnding = true;
      this.#replace(set, { ...set, status: this.#statusOf(set) });
    }
  }

  #statusOf({ metadata }: OwnedSet) {
    const own = this.pods.filter((pod) => pod.set === metadata.name);
    const alive = own.filter((pod) => !pod.isEnding);
    const ready = alive.filter((pod) => pod.isReady).length;
    const { generation = 1 } = metadata;
    return {
      replicas: alive.length,
      readyReplicas: ready,
      availableReplicas: ready,
      terminatingReplicas: own.length - alive.length,
      observedGeneration: generation,
    };
  }

  /** Some Pods become ready, some end for good. Chosen by the digits of `dice`. */
  live(dice: number): void {
    this.now += 1000;
    this.pods = this.pods.filter((pod, index) => !(pod.isEnding && (dice >> (index % 24)) % 2 === 1));
    for (const [index, pod] of this.pods.entries())
      if (!pod.isReady && !pod.isEnding && (dice >> ((index + 7) % 24)) % 2 === 1) pod.isReady = true;
  }

  /** Goes on until nothing moves: no plan, no Pod, no count. */
  settle(): void {
    for (let turn = 0, still = 0; still < 2; turn++) {
      expect(turn).toBeLessThan(400);
      this.live(0xffffff);
      this.count();
      const isQuiet = this.pods.every((pod) => pod.isReady && !pod.isEnding);
      still = !this.plan() && isQuiet ? still + 1 : 0;
    }
  }

  get available(): number {
    return this.pods.filter((pod) => pod.isReady && !pod.isEnding).length;
  }
}

const share = fc.oneof(fc.nat({ max: 4 }), fc.constantFrom("0%", "10%", "25%", "50%", "100%"));
const rolling = fc.record({ maxSurge: share, maxUnavailable: share });
const sizes = fc.integer({ min: 1, max: 9 });
const dice = fc.integer({ min: 0, max: 0xffffff });

test("a rolling update stays within its surge and its unavailability, and ends", () => {
  fc.assert(
    fc.property(sizes, rolling, fc.array(dice, { maxLength: 60 }), (replicas, rollingUpdate, moves) => {
      const world = new World({ replicas, strategy: { type: "RollingUpdate", rollingUpdate } });
      world.settle();
      world.change({ template: template("two") });
      const { surge, unavailable } = rolloutBudget(world.deployment);
      for (const move of moves) {
        world.plan();
        world.count();
        expect(sum(world.sets, replicasOf)).toBeLessThanOrEqual(replicas + surge);
        expect(world.available).toBeGreaterThanOrEqual(replicas - unavailable);
        world.live(move);
        world.count();
      }
      world.settle();
      expectOnly(world, "two", replicas);
    }),
    { numRuns: runs(60) },
  );
});

test("with Recreate no Pod of the new template is there before the last old one has gone", () => {
  fc.assert(
    fc.property(sizes, fc.array(dice, { maxLength: 40 }), (replicas, moves) => {
      const world = new World({ replicas, strategy: { type: "Recreate" } });
      world.settle();
      const old = new Set(world.sets.map(({ metadata }) => metadata.name));
      world.change({ template: template("two") });
      for (const move of moves) {
        world.plan();
        world.count();
        const kinds = new Set(world.pods.map(({ set }) => old.has(set)));
        expect(kinds.size).toBeLessThanOrEqual(1);
        world.live(move);
        world.count();
      }
      world.settle();
      expectOnly(world, "two", replicas);
    }),
    { numRuns: runs(40) },
  );
});

/** What people do to a Deployment while it is at something else. */
const change = fc.oneof(
  fc.record({ replicas: fc.nat({ max: 9 }) }),
  fc.constantFrom("one", "two", "three").map((image) => ({ template: template(image) })),
  fc.boolean().map((paused) => ({ paused })),
);

test("whatever is changed in between, in the end there are the wanted Pods of the last template, and one former set", () => {
  fc.assert(
    fc.property(
      sizes,
      rolling,
      fc.array(fc.tuple(change, fc.array(dice, { maxLength: 5 })), { maxLength: 25 }),
      (replicas, rollingUpdate, history) => {
        const world = new World({
          replicas,
          strategy: { type: "RollingUpdate", rollingUpdate },
          revisionHistoryLimit: 1,
        });
        for (const [spec, moves] of history) {
          world.change(spec);
          for (const move of moves) {
            world.plan();
            world.count();
            world.live(move);
          }
        }
        world.change({ paused: false });
        world.settle();
        const { template: last, replicas: wanted = 1 } = world.deployment.spec;
        expectOnly(world, last.spec.containers[0]?.image ?? "", wanted);
        expect(world.sets.length).toBeLessThanOrEqual(2);
      },
    ),
    { numRuns: runs(80) },
  );
});

function expectOnly(world: World, image: string, replicas: number): void {
  const carrying = world.sets.filter((set) => replicasOf(set) > 0);
  expect(carrying.map(({ spec }) => spec.template.spec.containers[0]?.image)).toEqual(replicas === 0 ? [] : [image]);
  expect(sum(world.sets, availableOf)).toBe(replicas);
  expect(world.pods).toHaveLength(replicas);
  const { status } = world.deployment;
  expect(status?.updatedReplicas ?? 0).toBe(replicas);
  expect(status?.conditions?.find(({ type }) => type === "Available")?.status).toBe("True");
}
