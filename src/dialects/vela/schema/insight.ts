import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { text } from "./fields.ts";
import { conditions, count, observedGeneration, useCase } from "./use-case.ts";

const enabled = (description: string) => s.optional(s.oneOf(["enabled", "disabled"], { description }));

// Members beyond these are kept: policies of users render objects of this kind.
const InsightSpec = s.object(
  {
    application: text("Name of the application; default: that of the label app.oam.dev/name."),
    leadTime: enabled("Measure the time from a change to its delivery."),
    frequency: enabled("Count deliveries."),
    mttr: enabled("Measure the time to repair."),
  },
  { preserveUnknown: true },
);
export type InsightSpec = TypeOf<typeof InsightSpec>;

const Quantiles = s.object({
  p50: s.number({ description: "Median." }),
  p90: s.number({ description: "90th percentile." }),
});

/** A finished run, kept because a revision holds only its last one. */
const DeliveryRecord = s.object({
  revision: s.string({ description: "The ApplicationRevision." }),
  createdTime: s.time({ description: "When the change was made." }),
  endTime: s.time({ description: "When the run ended." }),
  succeeded: s.boolean({ description: "Whether the workflow succeeded." }),
});
export type DeliveryRecord = TypeOf<typeof DeliveryRecord>;

const InsightStatus = s.object(
  {
    observedGeneration,
    window: text("The period that is measured."),
    leadTimeSeconds: s.optional(Quantiles),
    deploysPerWeek: s.optional(s.number({ description: "Successful deliveries per week." })),
    mttrSeconds: s.optional(Quantiles),
    changeFailureRate: s.optional(s.number({ minimum: 0, maximum: 1, description: "Share of failed deliveries." })),
    deliveries: count("Deliveries within the window."),
    records: s.optional(s.list(DeliveryRecord, { maxItems: 1000, description: "The deliveries within the window." })),
    conditions,
  },
  { preserveUnknown: true },
);
export type InsightStatus = TypeOf<typeof InsightStatus>;

export const Insight = kind({
  ...useCase,
  kind: "Insight",
  plural: "insights",
  description: "How fast and how safely an application is delivered.",
  spec: s.optional(InsightSpec),
  status: InsightStatus,
  columns: [
    column("Deliveries", ".status.deliveries", { type: "integer" }),
    column("Per-Week", ".status.deploysPerWeek", { type: "number" }),
    column("Lead-Time", ".status.leadTimeSeconds.p50", { type: "number" }),
    column("Failure-Rate", ".status.changeFailureRate", { type: "number" }),
    age(),
  ],
});
export type Insight = ObjectOf<typeof Insight>;
