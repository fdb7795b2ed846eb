import { s, type TypeOf } from "#lib/schema/index.ts";

const notifiedEvents = ["Started", "Succeeded", "Failed", "Canceled", "ApprovalNeeded", "StepFailed"] as const;
export type NotifiedEvent = (typeof notifiedEvents)[number];

/** Per workflow; each event is posted to each. */
const mostTargets = 16;

/** A workflow may name a target twice, for two formats. */
const Notification = s.object({
  on: s.list(s.oneOf([...notifiedEvents], { description: "Something that happens to a run, or to a step of it." }), {
    set: true,
    minItems: 1,
    description: "The events to send.",
  }),
  url: s.optional(
    s.string({
      minLength: 1,
      description: "URL (http or https) that receives POST requests; an alternative to secretRef.",
    }),
  ),
  secretRef: s.optional(
    s.object(
      {
        name: s.string({ minLength: 1, description: "Name of a Secret that the writer of the workflow may read." }),
        key: s.string({ minLength: 1, description: "Key of it that holds the URL." }),
      },
      { description: "Key of a Secret that contains the URL." },
    ),
  ),
  format: s.optional(
    s.oneOf(["cloudevents", "text"], {
      description: "cloudevents, when absent, is CloudEvents 1.0 in structured mode; text is one line.",
    }),
  ),
});
export const Notifications = s.list(Notification, {
  maxItems: mostTargets,
  description: "Targets of events, delivered at least once; a run never waits for them.",
});
export type Notification = TypeOf<typeof Notification>;

/** Self-contained, because the status may have changed. Below 500 bytes. */
const Owed = s.object({
  to: s.integer({ description: "Index of the notification in the specification." }),
  event: s.string({ description: "The event." }),
  step: s.optional(s.string({ description: "The step concerned." })),
  runNumber: s.integer({ description: "Number of the run." }),
  time: s.time({ description: "Time of the event." }),
  message: s.optional(s.string({ description: "The reason in words, at most 256 characters." })),
  problem: s.optional(s.string({ description: "Why it could not be delivered so far." })),
});
export type OwedNotification = TypeOf<typeof Owed>;

/** At most 200 owed and five failed ones, so that the status stays small. */
export const NotificationsStatus = s.object(
  {
    owed: s.optional(s.list(Owed, { description: "Not delivered yet; tried again for an hour." })),
    delivered: s.optional(s.integer({ description: "How many were delivered." })),
    failed: s.optional(s.list(Owed, { description: "The last five that were given up." })),
    dropped: s.optional(
      s.integer({ description: "Number of step events dropped because too many notifications were pending." }),
    ),
  },
  { description: "Pending, delivered and failed notifications.", preserveUnknown: true },
);
export type NotificationsStatus = TypeOf<typeof NotificationsStatus>;
