import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Informer, Metrics } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod } from "#kernel/model/index.ts";
import type { ContainerState, PodObject, PodPhase } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { countPods } from "./pod-metrics.ts";

let clock: FakeClock;
let client: MemoryClient;
let metrics: Metrics;
let stop: AbortController;
let ended: Promise<void>;
let uncount: () => void;

beforeEach(async () => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  await client.create(Pod, shellPod("there-before", "true"));
  metrics = new Metrics();
  stop = new AbortController();
  const informer = new Informer<PodObject>({ client, type: Pod, clock, log: silentLog, random: () => 0 });
  uncount = countPods(metrics, informer, clock);
  ended = informer.run(stop.signal);
  await informer.synced(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await ended;
});

async function write(name: string, phase: PodPhase, states: readonly ContainerState[] = []): Promise<void> {
  const pod = await client.get<PodObject>({ type: Pod, namespace: "default", name });
  const rest = { lastState: {}, ready: false, started: false, restartCount: 0, image: "x", imageID: "" };
  const containerStatuses = states.map((state, index) => ({ name: `c${index}`, state, ...rest }));
  await client.updateStatus<PodObject>(Pod, { ...pod, status: { phase, containerStatuses } });
  await clock.advance(0);
}

async function create(name: string): Promise<void> {
  await client.create(Pod, shellPod(name, "true"));
  await clock.advance(0);
}

const lines = (noun: string): readonly string[] =>
  metrics.collect().flatMap((family) => {
    if (!family.name.endsWith(noun)) return [];
    return family.type === "histogram"
      ? family.distributions.map(({ buckets, sum }) => `${buckets.at(-1)?.count} in ${sum} s`)
      : family.samples.map(({ labels, value }) => `${Object.values(labels).join()} ${value}`);
  });

test("Pods are counted by phase and containers by state", async () => {
  await create("one");
  await create("two");
  await write("one", "Running", [{ running: { startedAt: "2026-01-01T00:00:00Z" } }, { terminated: { exitCode: 0 } }]);
  await write("two", "Pending", [{ waiting: { reason: "ContainerCreating" } }]);
  expect(lines("_pods")).toEqual(["Pending 2", "Running 1"]);
  expect(lines("_containers")).toEqual(["running 1", "terminated 1", "waiting 1"]);
});

test("a start lasts from the first sight of a Pod until it runs, and counts once", async () => {
  await create("one");
  await clock.advance(250);
  await write("one", "Pending");
  await clock.advance(250);
  await write("one", "Running");
  await write("one", "Succeeded");
  expect(lines("start_duration_seconds")).toEqual(["1 in 0.5 s"]);
});

test("a Pod that ends before it was seen to run has started, too", async () => {
  await create("quick");
  await clock.advance(100);
  await write("quick", "Failed");
  expect(lines("start_duration_seconds")).toEqual(["1 in 0.1 s"]);
});

test("nothing is concluded of Pods that were there before, or that go before they run", async () => {
  await write("there-before", "Running");
  await create("gone");
  await client.delete({ type: Pod, namespace: "default", name: "gone" });
  await create("gone");
  await clock.advance(100);
  await write("gone", "Running");
  expect(lines("start_duration_seconds")).toEqual(["1 in 0.1 s"]);
});

test("nothing is counted after the end", async () => {
  await create("one");
  uncount();
  await write("one", "Running");
  expect(lines("start_duration_seconds")).toEqual(["0 in 0 s"]);
});
