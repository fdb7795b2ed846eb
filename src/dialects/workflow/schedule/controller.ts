import {
  controllerFor,
  type EventRecorder,
  type Informer,
  type Manager,
  regardingOf,
  requestKey,
  toController,
  type ApiClient,
  ensureChild,
  ensureDeleted,
  type Lister,
  patchStatus,
  type Reconciler,
  type ReconcileResult,
  withCondition,
} from "#kernel/kit/index.ts";
import { controllerOf, keyOf, isAlreadyExists, type Stored } from "#kernel/model/index.ts";
import { Workflow, isFinished } from "../kinds.ts";
import { ScheduledWorkflow, type ScheduleStatus } from "./kind.ts";
import {
  type Clock,
  formatTime,
  type Instant,
  messageOf,
  type Millis,
  parseInstant,
  recover,
} from "#lib/base/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import type { Notice } from "../messages.ts";
import { scheduleNotices } from "./notices.ts";
import { jitterOf, planSchedule, type SchedulePlan } from "./plan.ts";
import { replacement, runName, scheduledRun, timeOf } from "./run.ts";
import { calendarText } from "./calendar.ts";

const scheduleIndex = "slipway.dev/schedule";

/** Adds the controller of schedules to a manager that has not started. */
export function addScheduleController(manager: Manager, recorder: EventRecorder): void {
  const { client, clock } = manager;
  const workflows: Informer<Workflow> = manager.mirror<Workflow>(Workflow);
  const scheduleOf = toController(ScheduledWorkflow);
  workflows.addIndex(scheduleIndex, (run) => scheduleOf(run).map(requestKey));
  controllerFor(manager, "scheduled-workflow")
    .for<ScheduledWorkflow>(ScheduledWorkflow)
    .owns<Workflow>(Workflow, {
      predicates: [
        ({ type, object, old }) => type !== "update" || old === undefined || isFinished(object) !== isFinished(old),
      ],
    })
    .complete(
      scheduleReconciler({
        client,
        clientFor: (schedule) => manager.clientFor(schedule),
        clock,
        schedules: manager.mirror<ScheduledWorkflow>(ScheduledWorkflow),
        // Runs of an earlier schedule of the name are left to garbage collection.
        runsOf: (schedule) =>
          workflows
            .byIndex(scheduleIndex, keyOf(schedule.metadata))
            .filter((run) => controllerOf(run)?.uid === schedule.metadata.uid),
        record: (schedule, notice) => recorder.record({ ...notice, regarding: regardingOf(schedule) }),
        tally: tallyIn(manager),
      }),
    );
}

const lagBuckets: readonly number[] = [0.05, 0.25, 1, 5, 30, 60, 300, 3600, 86_400];

/** Counted here, because nothing else sees a run before it exists. */
function tallyIn({ metrics }: Manager): ScheduleTally {
  const lag = metrics
    .histogram("slipway_workflow_schedule_lag_seconds", "Time from when a run was due to its creation.", lagBuckets)
    .series();
  const missed = metrics
    .counter("slipway_workflow_missed_runs_total", "Runs of schedules that were missed and not made up for.")
    .series();
  return { lag: (after) => lag.observe(Math.max(0, after) / 1000), missed: (count) => missed.add(count) };
}

// Creates due runs, then stores what was decided. After a crash it decides the same and finds the run by name.

/** Timers ignore changes of the clock, so they are kept short. */
const longestSleep: Millis = 60_000;

interface ScheduleTally {
  /** Delay between due time and creation. */
  lag(after: Millis): void;
  missed(count: number): void;
}

/** Mirrors include its own writes. */
interface ScheduleParts {
  /** For the schedule's own writes: status, cancels, retention. */
  readonly client: ApiClient;
  /** With the rights of the schedule's writer, for creating runs. */
  readonly clientFor: (schedule: Stored<ScheduledWorkflow>) => ApiClient;
  readonly clock: Clock;
  readonly schedules: Lister<ScheduledWorkflow>;
  readonly runsOf: (schedule: Stored<ScheduledWorkflow>) => readonly Stored<Workflow>[];
  readonly record: (schedule: Stored<ScheduledWorkflow>, notice: Notice) => void;
  readonly tally: ScheduleTally;
}

function scheduleReconciler(parts: ScheduleParts): Reconciler {
  const { client, clock, record, tally } = parts;
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const schedule = parts.schedules.get(keyOf(request));
      if (schedule === undefined || schedule.metadata.deletionTimestamp !== undefined) return undefined;
      const plan = planSchedule(schedule, parts.runsOf(schedule), clock.now());
      for (const at of plan.starts) {
        // Created runs stay; a stopping manager starts nothing new.
        signal.throwIfAborted();
        await start(parts, schedule, at);
      }
      for (const run of plan.cancel) await cancel(client, run);
      const status = statusAfter(plan, schedule, parts.runsOf(schedule), clock.now());
      await patchStatus(client, ScheduledWorkflow, schedule, status);
      for (const notice of plan.notices) record(schedule, notice);
      tally.missed(plan.missed);
      for (const run of plan.remove) await ensureDeleted(client, Workflow, run, { propagationPolicy: "Background" });
      return plan.next === undefined ? undefined : { requeueAfter: sleepUntil(plan.next + jitterOf(schedule), clock) };
    },
  };
}

/** Never zero: an early timer would fire again in the same turn. */
const sleepUntil = (at: Instant, clock: Clock): Millis => Math.min(longestSleep, Math.max(1, at - clock.now()));

/** An existing run of the name is from before a crash or clock change; a foreign object is left alone. */
async function start(parts: ScheduleParts, schedule: Stored<ScheduledWorkflow>, at: Instant): Promise<void> {
  const { clock, record, tally } = parts;
  const name = runName(schedule, at);
  try {
    const { outcome } = await ensureChild<Workflow>(
      parts.clientFor(schedule),
      Workflow,
      scheduledRun(schedule, at),
      schedule,
    );
    if (outcome === "foreign") record(schedule, scheduleNotices.taken(name, at));
    if (outcome !== "created") return;
  } catch (thrown) {
    record(schedule, scheduleNotices.notCreated(name, messageOf(thrown)));
    throw thrown;
  }
  record(schedule, scheduleNotices.started(name, at));
  tally.lag(clock.now() - at - jitterOf(schedule));
}

/** By a RunAction, which may exist already. */
async function cancel(client: ApiClient, run: Stored<Workflow>): Promise<void> {
  await client.create(RunAction, replacement(run)).catch(recover(isAlreadyExists, undefined));
}

// Derived in every pass; an equal status is not written.

/** So that a schedule whose runs never end stays small. */
const mostActive = 100;

/** The status after a plan; `runs` are the current ones. Deterministic. */
function statusAfter(
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
