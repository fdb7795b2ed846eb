import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { CounterSeries, FamilyOf, HistogramSeries, Informer, Metrics, Sample } from "#kernel/kit/index.ts";
import type { Tally } from "./reconcile/pass.ts";
import type { StepStatus, Workflow, WorkflowStatus } from "./kinds.ts";
import { specOf } from "./spec-of.ts";

// Counted from stored states as the mirror receives them; each run once, by the event of its end, with its steps.

/** Types of steps; `other` if the spec changed meanwhile. */
const stepKinds = ["jobTemplate", "container", "template", "workflow", "externalRef", "wait", "approval"] as const;
const active: ReadonlySet<string> = new Set(["Starting", "Running", "Cancelling"]);
const settled: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Skipped", "Canceled"]);

interface Families {
  readonly runs: FamilyOf<CounterSeries>;
  readonly runDurations: HistogramSeries;
  readonly steps: FamilyOf<CounterSeries>;
  readonly latencies: HistogramSeries;
}

const runBuckets: readonly number[] = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400];

/** Registers the metrics and counts until the returned function is called. Runs that ended before are not counted. */
export function countWorkflows(metrics: Metrics, workflows: Informer<Workflow>): () => void {
  const families: Families = {
    runs: metrics.counter("slipway_workflow_runs_total", "Runs by how they ended."),
    runDurations: metrics
      .histogram("slipway_workflow_run_duration_seconds", "Time from a run's start to its end.", runBuckets)
      .series(),
    steps: metrics.counter(
      "slipway_workflow_steps_total",
      "Steps of ended runs, by what they were and how they ended.",
    ),
    latencies: metrics
      .histogram("slipway_workflow_step_latency_seconds", "Time from a step's readiness to its first start.")
      .series(),
  };
  metrics.gauge("slipway_workflow_active_steps", "Steps that have something at work.", () => [
    { labels: {}, value: unfinishedSteps(workflows).filter(({ phase = "" }) => active.has(phase)).length },
  ]);
  metrics.gauge("slipway_workflow_waiting_steps", "Steps that wait, by what for.", () => waitingByReason(workflows));
  return workflows.addHandler({
    update(old, object) {
      const { status } = object;
      if (status?.completionTime === undefined || old.status?.completionTime === status.completionTime) return;
      countRun(families, object, status);
    },
  });
}

export function tallyIn(metrics: Metrics): Tally {
  const counter = (name: string, help: string) => metrics.counter(`slipway_workflow_${name}_total`, help).series();
  const ignored = counter("ignored_facts", "Observations that no step had a use for.");
  const conflicts = counter("status_conflicts", "Status writes that came too late.");
  const stale = counter("stale_effects_prevented", "Times that a stale mirror asked for what was not to be done.");
  const asked = metrics.counter(
    "slipway_workflow_cache_lookups_total",
    "Starts of steps with a cache, by whether a result was there: hit, miss, or stale, which may not be taken.",
  );
  return {
    cacheAsked: (outcome) => asked.series({ outcome }).add(),
    ignoredFacts: (count) => ignored.add(count),
    statusConflict: () => conflicts.add(),
    staleEffectsPrevented: () => stale.add(),
  };
}

function countRun({ runs, runDurations, steps, latencies }: Families, run: Workflow, status: WorkflowStatus): void {
  runs.series({ outcome: status.phase ?? "" }).add();
  observe(runDurations, status.startTime, status.completionTime);
  const before = lastEnd(status);
  for (const [key, step] of Object.entries(status.statuses ?? {})) {
    const { phase = "", reason = "", finishTime } = step;
    // Steps kept by a retry were counted before.
    if (!settled.has(phase) || (parseInstant(finishTime ?? "") ?? Infinity) <= before) continue;
    steps.series({ kind: kindOf(run, key), outcome: phase, reason }).add();
    if (step.startTime !== undefined) observe(latencies, step.readyTime ?? step.startTime, step.startTime);
  }
}

function lastEnd({ history = [] }: WorkflowStatus): Instant {
  return parseInstant(history.at(-1)?.completionTime ?? "") ?? -Infinity;
}

function observe(series: HistogramSeries, from: string | undefined, to: string | undefined): void {
  const [begun, ended] = [parseInstant(from ?? ""), parseInstant(to ?? "")];
  // Never negative, in case the clock was set back.
  if (begun !== undefined && ended !== undefined) series.observe(Math.max(0, ended - begun) / 1000);
}

function kindOf(workflow: Workflow, key: string): string {
  const spec = specOf(workflow);
  const step = spec.steps?.[key] ?? spec.finally?.[key] ?? {};
  return stepKinds.find((kind) => kind in step) ?? "other";
}

const unfinishedSteps = (workflows: Informer<Workflow>): readonly StepStatus[] =>
  workflows
    .list()
    .filter(({ status }) => status?.completionTime === undefined)
    .flatMap(({ status }) => Object.values(status?.statuses ?? {}));

function waitingByReason(workflows: Informer<Workflow>): readonly Sample[] {
  const counts = new Map<string, number>();
  for (const { phase, reason = "" } of unfinishedSteps(workflows))
    if (phase === "Waiting") counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
}
