import type { Clock, Millis } from "#lib/base/index.ts";
import type { Informer, Metrics, Sample } from "#kernel/kit/index.ts";
import { type ContainerState, type PodObject, allStatuses } from "../pod-types.ts";

/**
 * Registers the metrics of the pod runner and counts until the returned function is called. Start times are measured
 * for Pods that this process saw before they ran: stored times are whole seconds.
 */
export function countPods(metrics: Metrics, pods: Informer<PodObject>, clock: Clock): () => void {
  metrics.gauge("slipway_pod_runner_pods", "Pods by phase.", () =>
    tally(
      pods.list().map(({ status }) => status?.phase ?? "Pending"),
      "phase",
    ),
  );
  metrics.gauge("slipway_pod_runner_containers", "Containers by state.", () =>
    tally(
      pods.list().flatMap((pod) => statesOf(pod).map(nameOf)),
      "state",
    ),
  );
  const starts = metrics.histogram("slipway_pod_runner_start_duration_seconds", "Time until a new Pod runs.").series();
  const seenAt = new Map<string, Millis>();
  return pods.addHandler({
    add({ metadata, status }, { isInitial }) {
      if (!isInitial && !hasBegun(status?.phase)) seenAt.set(metadata.uid, clock.monotonic());
    },
    update(_old, { metadata, status }) {
      const seen = seenAt.get(metadata.uid);
      if (seen === undefined || !hasBegun(status?.phase)) return;
      seenAt.delete(metadata.uid);
      starts.observe((clock.monotonic() - seen) / 1000);
    },
    delete: ({ metadata }) => void seenAt.delete(metadata.uid),
  });
}

const hasBegun = (phase = "Pending"): boolean => phase !== "Pending";
const statesOf = ({ status }: PodObject): readonly ContainerState[] => allStatuses(status).map(({ state }) => state);

function nameOf({ running, terminated }: ContainerState): string {
  if (running !== undefined) return "running";
  return terminated === undefined ? "waiting" : "terminated";
}

function tally(words: readonly string[], label: string): readonly Sample[] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, value]) => ({ labels: { [label]: word }, value }));
}
