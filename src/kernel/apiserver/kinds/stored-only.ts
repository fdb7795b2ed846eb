import { type JsonObject, objectsAt } from "#lib/base/index.ts";
import {
  DaemonSet,
  HorizontalPodAutoscaler,
  Ingress,
  LimitRange,
  NetworkPolicy,
  PodDisruptionBudget,
  type ResourceType,
} from "#kernel/model/index.ts";
import { definitionNames, mapMember, withAbsent, withPodSpecDefaults } from "#kernel/specs/index.ts";
import {
  daemonSetTable,
  horizontalPodAutoscalerTable,
  ingressTable,
  limitRangeTable,
  networkPolicyTable,
  podDisruptionBudgetTable,
} from "../tables/stored-only.ts";
import type { BuiltIn, Rule } from "./built-in.ts";

// Kinds without a controller here, stored so that documents apply whole. Every write warns.

export const notActedUpon =
  ({ kind }: ResourceType): Rule =>
  (_object, { warnings }) => {
    warnings.push(`${kind} is stored, not acted upon: this server has no controller for it`);
  };

/** Includes the Pod template's defaults, so that `kubectl diff` and `apply` see what they expect. */
export const withTemplate = (object: JsonObject, presets: JsonObject): JsonObject =>
  mapMember(object, "spec", (spec) =>
    mapMember(withAbsent(spec, presets), "template", (template) => mapMember(template, "spec", withPodSpecDefaults)),
  );

export const daemonSetKind: BuiltIn = {
  type: DaemonSet,
  definition: definitionNames.daemonSet,
  table: daemonSetTable,
  subresources: ["status"],
  hasGeneration: true,
  defaults: (set) =>
    withTemplate(set, {
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    }),
  prepareForCreate: (set) => ({
    ...set,
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  }),
  rules: [notActedUpon(DaemonSet)],
};

export const ingressKind: BuiltIn = {
  type: Ingress,
  definition: definitionNames.ingress,
  table: ingressTable,
  subresources: ["status"],
  hasGeneration: true,
  prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
  rules: [notActedUpon(Ingress)],
};

export const networkPolicyKind: BuiltIn = {
  type: NetworkPolicy,
  definition: definitionNames.networkPolicy,
  table: networkPolicyTable,
  hasGeneration: true,
  rules: [notActedUpon(NetworkPolicy)],
};

export const horizontalPodAutoscalerKind: BuiltIn = {
  type: HorizontalPodAutoscaler,
  definition: definitionNames.horizontalPodAutoscaler,
  table: horizontalPodAutoscalerTable,
  subresources: ["status"],
  defaults: (scaler) =>
    mapMember(scaler, "spec", (spec) => {
      const counted = withAbsent(spec, { minReplicas: 1 });
      return objectsAt(counted, "metrics").length > 0 ? counted : { ...counted, metrics: [usualMetric] };
    }),
  // Required by the schema.
  prepareForCreate: (scaler) => ({ ...scaler, status: { currentReplicas: 0, desiredReplicas: 0 } }),
  rules: [notActedUpon(HorizontalPodAutoscaler)],
};

/** Default metric. */
const usualMetric: JsonObject = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
};

export const podDisruptionBudgetKind: BuiltIn = {
  type: PodDisruptionBudget,
  definition: definitionNames.podDisruptionBudget,
  table: podDisruptionBudgetTable,
  subresources: ["status"],
  hasGeneration: true,
  prepareForCreate: (budget) => ({
    ...budget,
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  }),
  rules: [notActedUpon(PodDisruptionBudget)],
};

export const limitRangeKind: BuiltIn = {
  type: LimitRange,
  definition: definitionNames.limitRange,
  table: limitRangeTable,
  rules: [notActedUpon(LimitRange)],
};
