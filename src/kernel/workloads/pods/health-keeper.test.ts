import { beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { eventRecorder } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Event, Pod, type Stored } from "#kernel/model/index.ts";
import type { Container, PodObject, PodStatus, Probe } from "../pod-types.ts";
import { type FakeContainerHost, fakeContainerHost } from "../testing/fake-container-host.ts";
import { reachInto } from "./container-reach.ts";
import { HealthKeeper, plainHealth } from "./health-keeper.ts";
import { Hooks } from "./hooks.ts";
import { PodNotes } from "./pod-notes.ts";

let clock: FakeClock;
let client: MemoryClient;
let host: FakeContainerHost;
let health: HealthKeeper;
let pod: Stored<PodObject>;
let wakes: number;

beforeEach(async () => {
  clock = new FakeClock(0);
  client = memoryClient({ clock });
  host = fakeContainerHost();
  wakes = 0;
  const events = eventRecorder({ client, clock, log: silentLog, controller: "slipway.dev/test", instance: "here" });
  const notes = new PodNotes(events);
  const reach = reachInto(host, "127.0.0.1");
  const hooks = new Hooks({ reach, clock, notes });
  health = new HealthKeeper({ reach, hooks, notes, clock, log: silentLog, wake: () => void wakes++ });
  pod = await client.create<PodObject>(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default" },
    spec: { containers: [{ name: "main", image: "app:1" }] },
  });
});

const ask = (more: Partial<Probe> = {}): Probe => ({ exec: { command: ["ask"] }, periodSeconds: 10, ...more });
const main = (more: Partial<Container>): Container => ({ name: "main", image: "app:1", ...more });
const watch = (container: Container, isNew = true, status?: PodStatus) =>
  health.watch(status === undefined ? pod : { ...pod, status }, container, "t0", clock.now(), isNew);

/** Ends the newest command and lets what follows happen. */
async function answer(code: number, output = ""): Promise<void> {
  host.execs.at(-1)?.end({ code, output });
  await clock.advance(0);
}

const told = async () => {
  await clock.advance(1);
  const { items } = await client.list(Event, { namespace: "default" });
  return items.map((event) => `${String(Reflect.get(event, "reason"))}: ${String(Reflect.get(event, "note"))}`);
};

test("what has no probes is healthy, and so is what nobody watches", async () => {
  watch(main({}));
  await clock.advance(60_000);
  expect([health.healthOf("t0"), health.healthOf("t9")]).toEqual([plainHealth, plainHealth]);
  expect(host.execs).toEqual([]);
});

test("a readiness probe waits for its delay, and its answers make the container ready and not ready", async () => {
  watch(main({ readinessProbe: ask({ initialDelaySeconds: 5, failureThreshold: 2 }) }));
  expect(health.healthOf("t0")).toEqual({ started: true, ready: false });
  await clock.advance(4_999);
  expect(host.execs).toHaveLength(0);
  await clock.advance(1);
  expect(host.execs.map(({ command }) => command)).toEqual([["ask"]]);
  await answer(0);
  expect([health.healthOf("t0").ready, wakes]).toEqual([true, 1]);
  await clock.advance(10_000);
  await answer(1, "busy");
  expect([health.healthOf("t0").ready, wakes]).toEqual([true, 1]);
  await clock.advance(10_000);
  await answer(1, "busy");
  expect([health.healthOf("t0"), wakes]).toEqual([{ started: true, ready: false }, 2]);
  expect(await told()).toContain("Unhealthy: Readiness probe of container main failed: busy");
});

test("an answer that came while we stood still ourselves is read before the question is over", async () => {
  const after = clock.after.bind(clock);
  let standing: number | undefined = 60_000;
  // The first timer beyond the question itself is as late as whoever stood still finds it.
  clock.after = (delay, run) => {
    const late = delay > 0 ? standing : undefined;
    if (late !== undefined) standing = undefined;
    return after(late ?? delay, run);
  };
  watch(main({ livenessProbe: ask({ periodSeconds: 1, failureThreshold: 1 }) }));
  await clock.advance(60_000);
  await answer(0);
  await clock.advance(900);
  expect([health.healthOf("t0"), await told()]).toEqual([plainHealth, []]);
});

test("one question of a probe at a time, and one that takes too long is a failure", async () => {
  watch(main({ readinessProbe: ask({ periodSeconds: 1, timeoutSeconds: 30 }) }));
  await clock.advance(29_999);
  expect(host.execs).toHaveLength(1);
  await clock.advance(1);
  expect(await told()).toEqual(["Unhealthy: Readiness probe of container main failed: probe timed out after 30s"]);
  await clock.advance(1_000);
  expect(host.execs).toHaveLength(2);
});

test("a liveness probe that fails three times makes the container's end necessary, with its own grace", async () => {
  watch(main({ livenessProbe: ask({ terminationGracePeriodSeconds: 3 }) }));
  for (let failures = 1; failures <= 3; failures++) {
    expect(health.healthOf("t0")).toEqual(plainHealth);
    await clock.advance(failures === 1 ? 0 : 10_000);
    await answer(1);
  }
  const verdict = { message: "Container main failed liveness probe", graceMs: 3_000 };
  expect(health.healthOf("t0")).toEqual({ started: true, ready: true, verdict });
  expect(wakes).toBe(1);
  await clock.advance(60_000);
  expect(host.execs).toHaveLength(3);
});

test("a success in between begins the count of failures anew", async () => {
  watch(main({ livenessProbe: ask() }));
  for (const code of [1, 1, 0, 1, 1]) {
    await clock.advance(host.execs.length === 0 ? 0 : 10_000);
    await answer(code);
  }
  expect(health.healthOf("t0").verdict).toBeUndefined();
});

test("other probes wait until the startup probe has succeeded, which is then asked no more", async () => {
  watch(
    main({
      startupProbe: ask({ exec: { command: ["up?"] }, failureThreshold: 30 }),
      readinessProbe: ask({ exec: { command: ["ready?"] } }),
      livenessProbe: ask({ exec: { command: ["alive?"] } }),
    }),
  );
  const asked = () => host.execs.map(({ command }) => command[0]);
  await clock.advance(0);
  await answer(1);
  await clock.advance(10_000);
  expect(asked()).toEqual(["up?", "up?"]);
  expect(health.healthOf("t0")).toEqual({ started: false, ready: false });
  await answer(0);
  await clock.advance(0);
  expect(new Set(asked().slice(2))).toEqual(new Set(["alive?", "ready?"]));
  expect(health.healthOf("t0")).toEqual({ started: true, ready: false });
  for (const exec of host.execs.slice(2)) exec.end({ code: 0 });
  await clock.advance(10_000);
  expect(asked().filter((command) => command === "up?")).toHaveLength(2);
  expect(health.healthOf("t0")).toEqual(plainHealth);
});

test("a startup probe that never succeeds ends the container", async () => {
  watch(main({ startupProbe: ask({ failureThreshold: 1 }) }));
  await clock.advance(0);
  await answer(1);
  expect(health.healthOf("t0").verdict).toEqual({ message: "Container main failed startup probe" });
});

test("probes wait for the postStart hook; the container has not started before it is over", async () => {
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  watch(main({ lifecycle, readinessProbe: ask() }));
  await clock.advance(30_000);
  expect(host.execs.map(({ command }) => command[0])).toEqual(["hook"]);
  expect(health.healthOf("t0")).toEqual({ started: false, ready: false });
  await answer(0);
  expect([health.healthOf("t0").started, wakes]).toEqual([true, 1]);
  await clock.advance(0);
  expect(host.execs.map(({ command }) => command[0])).toEqual(["hook", "ask"]);
});

test("a postStart hook that fails ends the container and is told", async () => {
  watch(main({ lifecycle: { postStart: { exec: { command: ["hook"] } } } }));
  await clock.advance(0);
  await answer(3, "no permission");
  expect(health.healthOf("t0").verdict).toEqual({ message: "FailedPostStartHook" });
  expect(await told()).toEqual(["FailedPostStartHook: PostStartHook of container main failed: no permission"]);
});

test("a hook may be a sleep, in which nothing is run", async () => {
  watch(main({ lifecycle: { postStart: { sleep: { seconds: 7 } } } }));
  await clock.advance(6_999);
  expect(health.healthOf("t0").started).toBe(false);
  await clock.advance(1);
  expect([health.healthOf("t0").started, host.execs]).toEqual([true, []]);
});

test("a container that an earlier process has started is what its status says, and its hook is not run again", async () => {
  const state = { running: { startedAt: "1970-01-01T00:00:00Z" } };
  const known = {
    name: "main",
    ready: true,
    started: true,
    restartCount: 0,
    image: "app:1",
    imageID: "",
    state,
    lastState: {},
  };
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  const container = main({ lifecycle, startupProbe: ask(), readinessProbe: ask() });
  watch(container, false, { phase: "Running", containerStatuses: [known] });
  expect(health.healthOf("t0")).toEqual(plainHealth);
  await clock.advance(0);
  expect(host.execs.map(({ command }) => command[0])).toEqual(["ask"]);
});

test("what runs no more is not asked any more, and watching twice asks once", async () => {
  const container = main({ readinessProbe: ask({ periodSeconds: 1 }) });
  watch(container);
  watch(container);
  await clock.advance(0);
  expect(host.execs).toHaveLength(1);
  health.keep(pod.metadata.uid, []);
  await answer(0);
  await clock.advance(60_000);
  expect([host.execs.length, wakes, health.healthOf("t0")]).toEqual([1, 0, plainHealth]);
});

test("closing ends everything: neither hooks nor probes are told of", async () => {
  watch(main({ lifecycle: { postStart: { exec: { command: ["hook"] } } }, readinessProbe: ask() }));
  await clock.advance(0);
  health.close();
  await clock.advance(60_000);
  expect([wakes, await told()]).toEqual([0, []]);
});
