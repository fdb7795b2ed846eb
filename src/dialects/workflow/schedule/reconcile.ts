import { type Clock, type Instant, messageOf, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  ensureChild,
  ensureDeleted,
  type Lister,
  patchStatus,
  type Reconciler,
  type ReconcileResult,
} from "#kernel/kit/index.ts";
import { isAlreadyExists, keyOf, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import type { Notice } from "../messages.ts";
import { ScheduledWorkflow } from "./kind.ts";
import { scheduleNotices } from "./notices.ts";
import { jitterOf, planSchedule } from "./plan.ts";
import { replacement, runName, scheduledRun } from "./run.ts";
import { statusAfter } from "./status.ts";

// Creates due runs, then stores what was decided. After a crash it decides the same and finds the run by name.

/** Timers ignore changes of the clock, so they are kept short. */
const longestSleep: Millis = 60_000;

export interface ScheduleTally {
  /** Delay between due time and creation. */
  lag(after: Millis): void;
  missed(count: number): void;
}

/** Mirrors include its own writes. */
export interface ScheduleParts {
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

export function scheduleReconciler(parts: ScheduleParts): Reconciler {
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
  try {
    await client.create(RunAction, replacement(run));
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
}
