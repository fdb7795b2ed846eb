import { type Clock, parseInstant } from "#lib/base/index.ts";
import type { CounterSeries, FamilyOf, HistogramSeries, Informer, Metrics, Sample } from "#kernel/kit/index.ts";
import { renderFailureOf } from "./status/rendering.ts";
import { isTerminal, type Phase, type WorkflowState } from "./state.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";

// Counted from stored states as the mirror receives them; each run once, by the change that shows its end.

const buckets: readonly number[] = [
  1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400,
];

interface Families {
  readonly workflows: FamilyOf<HistogramSeries>;
  readonly actions: FamilyOf<HistogramSeries>;
  readonly timeouts: FamilyOf<CounterSeries>;
  readonly renderFailures: FamilyOf<CounterSeries>;
}

const timeouts: Readonly<Record<string, string>> = {
  ScheduledTimeout: "scheduled",
  WorkflowTimeout: "workflow",
  ActionTimeout: "action",
  CancelTimeout: "cancelling",
  AgentLost: "agent",
};

/** Registers the metrics and counts until the returned function is called, without workflows ended before. */
export function countWorkflows(metrics: Metrics, workflows: Informer<AnyWorkflow>, clock: Clock): () => void {
  const families: Families = {
    workflows: metrics.histogram(
      "slipway_tink_workflow_duration_seconds",
      "Time from a workflow's first action to its end, by how it ended.",
      buckets,
    ),
    actions: metrics.histogram(
      "slipway_tink_action_duration_seconds",
      "Time from an action's last start to its end, by how it ended.",
      buckets,
    ),
    renderFailures: metrics.counter("slipway_tink_render_failures_total", "Templates that could not be rendered."),
    timeouts: metrics.counter("slipway_tink_timeouts_total", "Workflows that a time has ended, by which one."),
  };
  metrics.gauge("slipway_tink_workflows", "Workflows by state.", () => byState(workflows));
  metrics.gauge("slipway_tink_pending_age_seconds", "Age of the oldest workflow that waits for its agent.", () => [
    { labels: {}, value: oldestPending(workflows, clock) },
  ]);
  return workflows.addHandler({
    update(old, object) {
      if (old.status === object.status) return;
      countMove(families, stateOf(old), stateOf(object), clock);
      const failure = renderFailureOf(object);
      if (failure !== undefined && failure !== renderFailureOf(old)) families.renderFailures.series({}).add();
    },
  });
}

function countMove(families: Families, before: WorkflowState, after: WorkflowState, clock: Clock): void {
  for (const [at, { phase, startedAt, finishedAt }] of after.actions.entries()) {
    if (phase === before.actions[at]?.phase || (phase !== "Succeeded" && phase !== "Failed")) continue;
    if (startedAt !== undefined && finishedAt !== undefined)
      families.actions.series({ result: phase }).observe(secondsBetween(startedAt, finishedAt));
  }
  if (!isTerminal(after.phase) || isTerminal(before.phase)) return;
  if (after.startedAt !== undefined)
    families.workflows.series({ result: after.phase }).observe(secondsBetween(after.startedAt, clock.now()));
  const kind = timeouts[after.reason ?? ""];
  if (kind !== undefined) families.timeouts.series({ kind }).add();
}

/** Never negative, in case the clock was set back. */
const secondsBetween = (from: number, to: number): number => Math.max(0, to - from) / 1000;

function byState(workflows: Informer<AnyWorkflow>): readonly Sample[] {
  const counts = new Map<Phase, number>();
  for (const workflow of workflows.list()) {
    const { phase } = stateOf(workflow);
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  return [...counts].map(([phase, value]) => ({ labels: { state: phase === "" ? "Unprepared" : phase }, value }));
}

function oldestPending(workflows: Informer<AnyWorkflow>, clock: Clock): number {
  const now = clock.now();
  const ages = workflows
    .list()
    .filter((workflow) => stateOf(workflow).phase === "Pending")
    .map(({ metadata }) => secondsBetween(parseInstant(metadata.creationTimestamp ?? "") ?? now, now));
  return ages.reduce((oldest, age) => Math.max(oldest, age), 0);
}
