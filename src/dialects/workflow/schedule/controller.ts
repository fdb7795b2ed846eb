import {
  controllerFor,
  type EventRecorder,
  type Informer,
  type Manager,
  regardingOf,
  requestKey,
  toController,
} from "#kernel/kit/index.ts";
import { controllerOf, keyOf } from "#kernel/model/index.ts";
import { Workflow, isFinished } from "../kinds.ts";
import { ScheduledWorkflow } from "./kind.ts";
import { scheduleReconciler, type ScheduleTally } from "./reconcile.ts";

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
