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

// A pass reads the calendar, creates what is due, and stores what was decided. Runs come before the status that tells of them: after a
// crash between the two the same is decided again, and the run is found by its name.

/** Timers count time that passes; a calendar goes by the clock, which is put right, or has slept, in between. */
const longestSleep: Millis = 60_000;

/** What the reconciler counts. */
export interface ScheduleTally {
  /** From when a run was due until it was created. */
  lag(after: Millis): void;
  missed(count: number): void;
}

/** What it works with; its mirrors show what was written through its clients at once. */
export interface ScheduleParts {
  /** For what is the schedule's own: its status, making way for the next run, retention. */
  readonly client: ApiClient;
  /** With the rights of whoever wrote the schedule: runs are created with no more than those. */
  readonly clientFor: (schedule: Stored<ScheduledWorkflow>) => ApiClient;
  readonly clock: Clock;
  readonly schedules: Lister<ScheduledWorkflow>;
  /** The runs that a schedule controls itself. */
  readonly runsOf: (schedule: Stored<ScheduledWorkflow>) => readonly Stored<Workflow>[];
  readonly record: (schedule: Stored<ScheduledWorkflow>, notice: Notice) => void;
  readonly tally: ScheduleTally;
}

/** Starts the runs of schedules. One timer for each: the time of its next run, or a minute. */
export function scheduleReconciler(parts: ScheduleParts): Reconciler {
  const { client, clock, record, tally } = parts;
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const schedule = parts.schedules.get(keyOf(request));
      if (schedule === undefined || schedule.metadata.deletionTimestamp !== undefined) return undefined;
      const plan = planSchedule(schedule, parts.runsOf(schedule), clock.now());
      for (const at of plan.starts) {
        // What has been created stays; nothing new is begun by a manager that stops.
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

/** Never zero: a timer that fires early would be asked again in the same turn. */
const sleepUntil = (at: Instant, clock: Clock): Millis => Math.min(longestSleep, Math.max(1, at - clock.now()));

/** A run of that name is the one, from before a crash or before the clock was set back; one of somebody else is left alone. */
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

/** By an action, like everything that is done to a run. It may have been asked for before. */
async function cancel(client: ApiClient, run: Stored<Workflow>): Promise<void> {
  try {
    await client.create(RunAction, replacement(run));
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
}
