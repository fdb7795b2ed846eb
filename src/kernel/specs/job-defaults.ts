import { type JsonObject, numberAt, objectAt, valueAt } from "#lib/base/index.ts";
import { withPodSpecDefaults } from "./pod-defaults.ts";
import { mapItems, mapMember, withAbsent, withUnset } from "./read.ts";

/** The largest int32: Kubernetes' backoffLimit where limits per index apply. */
const unlimited = 2_147_483_647;

/** A JobSpec with Kubernetes' defaults (batch/v1), its Pod template included; the same object if complete. */
export function withJobSpecDefaults(spec: JsonObject): JsonObject {
  const counted =
    valueAt(spec, "completions") === undefined && valueAt(spec, "parallelism") === undefined
      ? withAbsent(spec, { completions: 1, parallelism: 1 })
      : spec;
  const perIndex = numberAt(counted, "backoffLimitPerIndex") !== undefined;
  const filled = withAbsent(counted, {
    parallelism: 1,
    backoffLimit: perIndex ? unlimited : 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    // KEP-3939: a failure policy judges only ended Pods, so a replacement must wait for the end.
    podReplacementPolicy: objectAt(counted, "podFailurePolicy") === undefined ? "TerminatingOrFailed" : "Failed",
  });
  const judged = mapMember(filled, "podFailurePolicy", (policy) => mapItems(policy, "rules", withWantedConditions));
  return mapMember(judged, "template", (template) => mapMember(template, "spec", withPodSpecDefaults));
}

/** A rule that only names a condition means that it is true. */
const withWantedConditions = (rule: JsonObject): JsonObject =>
  mapItems(rule, "onPodConditions", (condition) => withUnset(condition, { status: "True" }));
