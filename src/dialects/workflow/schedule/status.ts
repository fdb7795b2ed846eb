import { formatTime, type Instant, parseInstant } from "#lib/base/index.ts";
import { withCondition } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type Workflow, isFinished } from "../kinds.ts";
import { calendarText } from "./calendar.ts";
import type { ScheduledWorkflow, ScheduleStatus } from "./kind.ts";
import type { SchedulePlan } from "./plan.ts";
import { timeOf } from "./run.ts";

// Derived in every pass; an equal status is not written.

/** So that a schedule whose runs never end stays small. */
const mostActive = 100;

/** The status after a plan; `runs` are the current ones. Deterministic. */
export function statusAfter(
  plan: SchedulePlan,
  { spec, status = {} }: Stored<ScheduledWorkflow>,
  runs: readonly Stored<Workflow>[],
  now: Instant,
): ScheduleStatus {
  const active = runs
    .filter((run) => !isFinished(run) && timeOf(run) !== undefined)
    .toSorted((a, b) => (timeOf(a) ?? 0) - (timeOf(b) ?? 0));
  const isReady = plan.readiness === "Scheduled" || plan.readiness === "ClockSetBack";
  const ready = {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason: plan.readiness,
    message: plan.message,
  } as const;
  const ends = runs.flatMap(({ status: run }) => (run?.phase === "Succeeded" ? [run.completionTime] : []));
  return {
    schedule: calendarText(spec),
    ...(active.length === 0 ? {} : { active: active.slice(-mostActive).map(referenceTo) }),
    activeCount: active.length,
    ...time("lastScheduleTime", latest([instant(status.lastScheduleTime), ...runs.map(timeOf)])),
    ...time("lastSuccessfulTime", latest([status.lastSuccessfulTime, ...ends].map(instant))),
    ...time("nextScheduleTime", plan.next),
    decidedTime: formatTime(plan.decided),
    ...time("queuedTime", plan.queued),
    missed: (status.missed ?? 0) + plan.missed,
    conditions: withCondition(status.conditions ?? [], ready, now),
  };
}

/** Unreadable times count as absent. */
const instant = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);

/** As instants, because offsets may differ. */
const latest = (times: readonly (Instant | undefined)[]): Instant | undefined =>
  times.reduce((last, at) => (at !== undefined && (last === undefined || at > last) ? at : last), undefined);

const time = <N extends string>(name: N, at: Instant | undefined): { readonly [K in N]?: string } =>
  at === undefined ? {} : ({ [name]: formatTime(at) } as { readonly [K in N]: string });

/** Without resourceVersion, which changes with every step. */
const referenceTo = ({ apiVersion, kind, metadata: { namespace = "", name, uid } }: Stored<Workflow>) => ({
  apiVersion,
  kind,
  namespace,
  name,
  uid,
});
