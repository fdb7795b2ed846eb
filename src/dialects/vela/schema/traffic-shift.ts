import { age, column, kind, type ObjectOf, s, type TypeOf } from "#lib/schema/index.ts";
import { text } from "./fields.ts";
import { conditions, observedGeneration, percentage, useCase } from "./use-case.ts";

export const trafficModes = ["HTTPRoute", "Ingress", "Service"] as const;
export type TrafficMode = (typeof trafficModes)[number];

/** Where the requests of one Service go. */
const ShiftedService = s.object({
  service: s.string({ minLength: 1, description: "Name of the Service." }),
  component: s.string({ description: "Name of the component behind it." }),
  mode: s.oneOf(trafficModes, {
    description: "HTTPRoute: weights of backends. Ingress: canary annotations. Service: weights of endpoints.",
  }),
  route: text("Name of the HTTPRoute or Ingress."),
  original: s.optional(s.any({ description: "The route's rules before the shift, to restore them." })),
});
export type ShiftedService = TypeOf<typeof ShiftedService>;

const TrafficShiftSpec = s.object({
  application: s.string({ minLength: 1, description: "Name of the application." }),
  rollout: s.string({ description: "Name of the Rollout." }),
  partition: percentage("Share of the requests that go to the new revision."),
});
export type TrafficShiftSpec = TypeOf<typeof TrafficShiftSpec>;

const TrafficShiftStatus = s.object(
  {
    observedGeneration,
    services: s.optional(s.list(ShiftedService, { key: "service", description: "The Services that were shifted." })),
    newWeight: s.optional(s.integer({ minimum: 0, maximum: 100, description: "Percentage of the new revision." })),
    message: text("What was done, for people."),
    conditions,
  },
  { preserveUnknown: true },
);
export type TrafficShiftStatus = TypeOf<typeof TrafficShiftStatus>;

export const TrafficShift = kind({
  ...useCase,
  kind: "TrafficShift",
  plural: "trafficshifts",
  description: "Shares of the requests that go to the old and the new revision of an application's components.",
  spec: TrafficShiftSpec,
  status: TrafficShiftStatus,
  columns: [
    column("Rollout", ".spec.rollout"),
    column("Partition", ".spec.partition"),
    column("Weight", ".status.newWeight", { type: "integer" }),
    age(),
  ],
});
export type TrafficShift = ObjectOf<typeof TrafficShift>;
