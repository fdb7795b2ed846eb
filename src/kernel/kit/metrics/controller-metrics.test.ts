import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Controller } from "../controller/controller.ts";
import { type ReconcileRequest, TerminalError } from "../controller/reconciler.ts";
import { controllerMetrics } from "./controller-metrics.ts";
import { Metrics } from "./metrics.ts";

/** A controller at work on a fake clock; each reconcile takes 40 ms and ends as its name says. */
function controllerAtWork() {
  const clock = new FakeClock();
  const metrics = new Metrics();
  const counts = controllerMetrics(metrics);
  const reconcile = async ({ name }: ReconcileRequest) => {
    await new Promise<void>((resolve) => void clock.after(40, resolve));
    if (name === "bad") throw new Error("not now");
    if (name === "hopeless") throw new TerminalError("never");
    return name === "again" ? { requeueAfter: 60_000 } : undefined;
  };
  const controller = new Controller({
    name: "widgets",
    reconciler: { reconcile },
    clock,
    log: silentLog,
    schedule: queueMicrotask,
    maxConcurrent: 2,
    observer: counts.observer("widgets"),
    retries: { firstRetry: 5000 },
  });
  counts.watch(controller);
  const stop = new AbortController();
  const ended = controller.run({ stop: stop.signal, abort: stop.signal });
  /** By name and outcome; count and sum of distributions. */
  const numbers = (): Record<string, unknown> =>
    Object.fromEntries(
      metrics.collect().flatMap((family): readonly [string, unknown][] => {
        const short = family.name.replace("slipway_controller_", "");
        return family.type === "histogram"
          ? family.distributions.map(({ buckets, sum }) => [short, [buckets.at(-1)?.count, sum]])
          : family.samples.map(({ labels, value }) => [[short, ...Object.values(labels).slice(1)].join("/"), value]);
      }),
    );
  const close = () => {
    stop.abort();
    return ended;
  };
  return { clock, controller, metrics, numbers, close };
}

test("every way a reconcile can end is counted, with its time in seconds and the wait before it", async () => {
  const { clock, controller, numbers, close } = controllerAtWork();
  for (const name of ["good", "bad", "hopeless", "again"]) controller.queue.add(name);
  await clock.advance(10);
  expect(numbers()).toMatchObject({ queue_depth: 2, active: 2, longest_running_seconds: 0.01, queue_adds_total: 4 });
  await clock.advance(100);
  const seen = numbers();
  expect(seen).toMatchObject({
    "reconciles_total/success": 1,
    "reconciles_total/failed": 1,
    "reconciles_total/terminal": 1,
    "reconciles_total/requeued": 1,
    retries_total: 1,
    queue_depth: 0,
    queue_delayed: 2,
    active: 0,
    longest_running_seconds: 0,
  });
  const [count, sum] = seen["reconcile_duration_seconds"] as [number, number];
  expect(count).toBe(4);
  expect(sum).toBeCloseTo(0.16);
  // Two were taken at once and two when those were done.
  const [taken, waited] = seen["queue_latency_seconds"] as [number, number];
  expect(taken).toBe(4);
  expect(waited).toBeCloseTo(0.08);
  await close();
});

test("controllers are told apart by their names and nothing else", async () => {
  const { metrics, controller, clock, close } = controllerAtWork();
  controller.queue.add("ns/some-object");
  await clock.advance(50);
  const labels = metrics
    .collect()
    .flatMap((family) => [...(family.type === "histogram" ? family.distributions : family.samples)])
    .flatMap(({ labels }) => Object.entries(labels));
  expect(new Set(labels.filter(([name]) => name === "controller").map(([, value]) => value))).toEqual(
    new Set(["widgets"]),
  );
  expect(new Set(labels.map(([name]) => name))).toEqual(new Set(["controller", "outcome"]));
  await close();
});
