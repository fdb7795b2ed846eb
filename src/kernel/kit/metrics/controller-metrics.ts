import type { Millis } from "#lib/base/index.ts";
import type { Controller, ControllerObserver, Outcome } from "../controller/controller.ts";
import type { QueueStats } from "../controller/work-queue.ts";
import type { Metrics, Sample } from "./metrics.ts";

// Like controller-runtime's metrics of work queues and reconciles, with the label `controller`.

/** One per `Metrics`. */
export interface ControllerMetrics {
  observer(name: string): ControllerObserver;
  watch(controller: Pick<Controller, "name" | "queue">): void;
}

const outcomes: readonly Outcome[] = ["success", "requeued", "failed", "terminal"];

export function controllerMetrics(metrics: Metrics): ControllerMetrics {
  const queues = new Map<string, () => QueueStats>();
  const gauge = (noun: string, help: string, valueOf: (stats: QueueStats) => number): void =>
    metrics.gauge(`slipway_controller_${noun}`, help, () =>
      [...queues].map(([controller, stats]): Sample => ({ labels: { controller }, value: valueOf(stats()) })),
    );
  gauge("queue_depth", "Keys that wait to be reconciled.", ({ depth }) => depth);
  gauge("queue_delayed", "Keys that wait for their time: retries and later looks.", ({ delayed }) => delayed);
  gauge("active", "Keys being reconciled.", ({ processing }) => processing);
  gauge("longest_running_seconds", "Age of the oldest reconcile under way.", (stats) => seconds(stats.longestRunning));
  const adds = metrics.counter("slipway_controller_queue_adds_total", "Keys added to the queue.");
  const retries = metrics.counter("slipway_controller_retries_total", "Keys tried again after a failure.");
  const waits = metrics.histogram("slipway_controller_queue_latency_seconds", "Time a key waits to be taken.");
  const passes = metrics.counter("slipway_controller_reconciles_total", "Reconciles by how they ended.");
  const works = metrics.histogram("slipway_controller_reconcile_duration_seconds", "Time one reconcile takes.");
  return {
    watch: ({ name, queue }) => void queues.set(name, () => queue.stats()),
    observer(controller) {
      // Series are looked up once: a reconcile then costs additions only.
      const [added, retried] = [adds.series({ controller }), retries.series({ controller })];
      const [waited, worked] = [waits.series({ controller }), works.series({ controller })];
      const ended = new Map(outcomes.map((outcome) => [outcome, passes.series({ controller, outcome })]));
      return {
        added: () => added.add(),
        retried: () => retried.add(),
        taken: (time) => waited.observe(seconds(time)),
        reconciled(outcome, took) {
          ended.get(outcome)?.add();
          worked.observe(seconds(took));
        },
      };
    },
  };
}

const seconds = (time: Millis): number => time / 1000;
