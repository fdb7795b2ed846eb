import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { Workflow } from "../kinds.ts";
import { Spec as WorkflowSpec } from "../schema/spec.ts";

export const mostSchedules = 50;
/** `catchUp: All` creates this many in one pass, which may all run at once. */
const mostCaughtUp = 1_000;

const seconds = (description: string, maximum?: number) =>
  s.optional(s.integer({ minimum: 0, ...(maximum === undefined ? {} : { maximum }), description }));
const kept = (description: string) => s.optional(s.integer({ minimum: 0, description }));

// A Workflow's spec, so that `kubectl explain` shows it and unknown fields are reported.
const Template = s.object(
  {
    metadata: s.optional(
      s.object(
        {
          labels: s.optional(s.map(s.string(), { description: "Put on every run." })),
          annotations: s.optional(s.map(s.string(), { description: "Put on every run." })),
        },
        { description: "Labels and annotations of the runs." },
      ),
    ),
    spec: WorkflowSpec,
  },
  { description: "The Workflow to create; its expressions know schedule.time." },
);

/** Only `suspend` has a default, for its column; documents stay as written. */
const Spec = s.object({
  schedule: s.optional(
    s.string({
      description: "Five fields of cron (minute, hour, day of month, month, day of week), or @hourly to @yearly.",
    }),
  ),
  schedules: s.optional(
    s.list(s.string(), {
      minItems: 1,
      maxItems: mostSchedules,
      description: "Several schedules instead of one; a time that two of them name is one run.",
    }),
  ),
  timeZone: s.optional(s.string({ description: "A name of the IANA database; Etc/UTC when absent." })),
  startingDeadlineSeconds: seconds("How late a run may start; without limit when absent."),
  catchUp: s.optional(
    s.oneOf(["Latest", "None", "All"], {
      description: "Which runs to start that were missed while nothing could start them. Latest when absent.",
    }),
  ),
  catchUpLimit: s.optional(
    s.integer({ minimum: 1, maximum: mostCaughtUp, description: "Runs that All starts at most; 100 when absent." }),
  ),
  concurrencyPolicy: s.optional(
    s.oneOf(["Allow", "Forbid", "Replace", "Queue"], {
      description:
        "When an earlier run has not ended: Allow (when absent) starts anyway, Forbid skips, Replace cancels it and then starts, Queue starts after its end, one run at most.",
    }),
  ),
  suspend: s.boolean({ default: false, description: "Starts nothing; runs that have started go on." }),
  jitterSeconds: seconds("Maximum start delay; each schedule always uses the same delay.", 86_400),
  successfulWorkflowsHistoryLimit: kept("Succeeded runs that are kept; 3 when absent."),
  failedWorkflowsHistoryLimit: kept("Failed and canceled runs that are kept; 1 when absent."),
  workflowTemplate: Template,
});

const Condition = s.object({
  type: s.string({ description: "Ready: runs are started when they are due." }),
  status: s.oneOf("True", "False", "Unknown"),
  lastTransitionTime: s.optional(s.time()),
  reason: s.optional(s.string({ description: "Scheduled, Suspended, InvalidSchedule, NeverDue or ClockSetBack." })),
  message: s.optional(s.string()),
});

const RunReference = s.object({
  apiVersion: s.string(),
  kind: s.string(),
  namespace: s.string(),
  name: s.string(),
  uid: s.string(),
});

const Status = s.object({
  schedule: s.optional(s.string({ description: "The schedules and their time zone, as they were understood last." })),
  active: s.optional(s.list(RunReference, { description: "Runs that have not ended, the newest hundred of them." })),
  activeCount: s.optional(s.integer({ description: "How many runs have not ended." })),
  lastScheduleTime: s.optional(s.time({ description: "Time of the schedule for which a run was made last." })),
  lastSuccessfulTime: s.optional(s.time({ description: "When a run succeeded last." })),
  nextScheduleTime: s.optional(s.time({ description: "Next time of the schedule." })),
  decidedTime: s.optional(s.time({ description: "Every scheduled time up to this one has its run, or never will." })),
  queuedTime: s.optional(s.time({ description: "Time of the run that waits for the end of those before it." })),
  missed: s.optional(s.integer({ description: "Runs that were missed and not made up for, since the creation." })),
  conditions: s.optional(s.list(Condition, { key: "type" })),
});

export const ScheduledWorkflow = kind({
  group: Workflow.group,
  version: Workflow.version,
  kind: "ScheduledWorkflow",
  plural: "scheduledworkflows",
  scope: "Namespaced",
  shortNames: ["swf"],
  categories: ["slipway"],
  description: "Runs a Workflow on a schedule.",
  spec: Spec,
  status: Status,
  columns: [
    column("Schedule", ".status.schedule"),
    column("Suspend", ".spec.suspend", { type: "boolean" }),
    column("Active", ".status.activeCount", { type: "integer" }),
    column("Last schedule", ".status.lastScheduleTime", { type: "date" }),
    // Not a date: kubectl shows the age of one.
    column("Next", ".status.nextScheduleTime"),
    age(),
  ],
});
export type ScheduledWorkflow = ObjectOf<typeof ScheduledWorkflow>;
export type ScheduleSpec = TypeOf<typeof Spec>;
export type ScheduleStatus = TypeOf<typeof Status>;
