import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { ActiveBuild, LossReason, SeenWorker } from "./judge.ts";
import { type Watched, Watchdog } from "./watchdog.ts";

/** Workers and builds in memory, and what was done to them. */
class World implements Watched {
  readonly clock = new FakeClock();
  readonly done: string[] = [];
  readonly logged: string[] = [];
  seenWorkers: SeenWorker[] = [];
  builds: ActiveBuild[] = [];
  /** Those that have ended since the builds were listed. */
  ended = new Set<number>();
  fails: string | undefined;
  rounds = 0;
  isIdle = false;

  async workers(): Promise<readonly SeenWorker[]> {
    this.rounds += 1;
    if (this.fails === "workers") throw new Error("the provisioner does not answer");
    return this.seenWorkers;
  }
  async activeBuilds(): Promise<readonly ActiveBuild[]> {
    if (this.fails === "builds") throw new Error("page 3 is missing");
    return this.builds;
  }
  async isActive(buildId: number): Promise<boolean> {
    return !this.ended.has(buildId) && (this.builds.some((build) => build.buildId === buildId) || buildId === 99);
  }
  async deleteWorker(workerId: string): Promise<void> {
    if (this.fails === workerId) throw new Error("no");
    this.done.push(`delete ${workerId}`);
  }
  async failBuild(buildId: number, reason: LossReason): Promise<void> {
    this.done.push(`fail ${buildId} ${reason}`);
  }

  watchdog(): Watchdog {
    const note = (level: string) => (message: string) => void this.logged.push(`${level} ${message}`);
    const log = { ...silentLog, warn: note("warn"), error: note("error") };
    return new Watchdog({ watched: this, clock: this.clock, random: () => 0.5, log, isIdle: () => this.isIdle });
  }
}

const { signal } = new AbortController();
const lost = (world: World, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    buildId: at + 1,
    workerId: "",
    isRunning: false,
    mayHaveWorker: false,
    scheduledOn: world.clock.now() - 60_000,
  }));
const stray = (world: World, workerId: string, buildId = 0): SeenWorker => ({
  workerId,
  buildId,
  isFinal: false,
  createdAt: world.clock.now() - 60_000,
});

test("strays are ended and builds that nobody runs have failed, unless a second look says otherwise", async () => {
  const world = new World();
  world.builds = lost(world, 2);
  world.ended.add(2);
  // The build of the second one is active by now: it was not when builds were listed.
  world.seenWorkers = [stray(world, "a"), stray(world, "b", 99)];
  await world.watchdog().round(signal);
  expect(world.done).toEqual(["delete a", "fail 1 WorkerNeverStarted"]);
});

test.each(["workers", "builds"])("without all %s nothing is done", async (what) => {
  const world = new World();
  world.builds = lost(world, 1);
  world.seenWorkers = [stray(world, "a")];
  world.fails = what;
  await world.watchdog().round(signal);
  expect(world.done).toEqual([]);
  expect(world.logged).toEqual(["warn comparing workers and builds failed"]);
});

test("what cannot be done keeps nothing else from being done", async () => {
  const world = new World();
  world.seenWorkers = [stray(world, "a"), stray(world, "b")];
  world.builds = lost(world, 1);
  world.fails = "a";
  const watchdog = world.watchdog();
  await watchdog.round(signal);
  expect(world.done).toEqual(["delete b", "fail 1 WorkerNeverStarted"]);
  world.fails = undefined;
  await watchdog.round(signal);
  expect(world.done).toContain("delete a");
});

test("an empty list of workers does not fail twenty builds before it is seen twice", async () => {
  const world = new World();
  world.builds = lost(world, 20);
  const watchdog = world.watchdog();
  await watchdog.round(signal);
  expect(world.done).toEqual([]);
  expect(world.logged).toEqual(["error most builds have no worker; they fail if the next check agrees"]);
  // One that begins anew has seen nothing before.
  await world.watchdog().round(signal);
  expect(world.done).toEqual([]);
  await watchdog.round(signal);
  expect(world.done).toHaveLength(20);
});

test("rounds come every five minutes, the first one at once, while there is something to compare", async () => {
  const world = new World();
  const stop = new AbortController();
  const running = world.watchdog().run(stop.signal);
  await expect.poll(() => world.rounds).toBe(1);
  await world.clock.advance(299_999);
  expect(world.rounds).toBe(1);
  await world.clock.advance(1);
  await expect.poll(() => world.rounds).toBe(2);
  world.isIdle = true;
  await world.clock.advance(600_000);
  expect(world.rounds).toBe(2);
  stop.abort();
  await running;
});
