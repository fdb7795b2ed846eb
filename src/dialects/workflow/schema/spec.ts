import { s } from "#lib/schema/index.ts";
import { Notifications } from "../notify/schema.ts";
import { positive, priority, reserved } from "./fields.ts";
import { Param, Step, StepDefaults, TemplateRef } from "./step.ts";

/** Implemented by a ConcurrencyLimit named by a hash of the key. */
const Concurrency = s.object(
  {
    key: s.string({
      minLength: 1,
      description: "Workflows of the namespace with the same text share it; ${{ }} is filled in.",
    }),
    limit: s.optional(s.integer({ minimum: 1, maximum: 1_000, description: "Workflows at once; 1 when absent." })),
    onConflict: s.optional(
      s.oneOf(["Queue", "CancelRunning", "CancelNew"], {
        description:
          "Queue (when absent) waits for its turn, CancelRunning ends the older ones, CancelNew does not run.",
      }),
    ),
  },
  { description: "At most so many workflows with this key at once." },
);

/** Of Workflows, templates and schedules; differences are checked separately. */
export const Spec = s.object({
  steps: s.optional(s.map(Step, { description: "Vertices of the graph by key." })),
  finally: s.optional(s.map(Step, { description: "Steps that run after all others are settled, always." })),
  finallyDeadlineSeconds: positive("Time for the final steps; 600 when absent."),
  activeDeadlineSeconds: positive("Run time allowed from status.startTime, suspension excluded."),
  selector: s.optional(
    s.object(
      {
        matchLabels: s.optional(s.map(s.string(), { description: "Put on every child." })),
        matchExpressions: s.optional(s.list(s.anyObject(), { description: "Not supported." })),
      },
      { description: "Selects the created jobs; by the workflow's uid when absent." },
    ),
  ),
  metadata: s.optional(s.anyObject({ description: "Accepted and ignored." })),
  params: s.optional(s.list(Param, { key: "name", description: "Typed inputs." })),
  arguments: s.optional(s.map(s.any(), { description: "Values for params." })),
  outputs: s.optional(s.map(s.string(), { description: "CEL expressions, evaluated when the workflow succeeds." })),
  suspend: s.optional(s.boolean({ description: "Start no new steps; running children continue." })),
  parallelism: positive("Steps active at once, those of child workflows included."),
  failureStrategy: s.optional(
    s.oneOf(["Continue", "Drain", "Cancel"], {
      description:
        "After a failure: Continue (when absent) skips its dependants, Drain starts nothing new, Cancel also ends what runs.",
    }),
  ),
  stepDefaults: s.optional(StepDefaults),
  ttlSecondsAfterFinished: s.optional(
    s.integer({ minimum: 0, description: "Delete the workflow this many seconds after it ends." }),
  ),
  templateRef: s.optional(TemplateRef),
  priority: priority("Place in queues for locks and concurrency keys: higher first; 0 when absent."),
  concurrency: s.optional(Concurrency),
  archive: reserved("Keep the final object."),
  notifications: s.optional(Notifications),
  serviceAccountName: reserved("Account of the created Pods."),
  podDefaults: reserved("Defaults of the created Pods."),
});
