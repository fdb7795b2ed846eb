import { type JsonObject, numberAt, objectAt, valueAt } from "#lib/base/index.ts";
import { withPodSpecDefaults } from "./pod-defaults.ts";
import { mapItems, mapMember, withAbsent, withUnset } from "./read.ts";

/** The largest int32: what Kubernetes writes where a limit per index makes the limit of the whole Job meaningless. */
const unlimited = 2_147_483_647;

/**
 * A JobSpec with Kubernetes' defaults (batch/v1), those of its Pod template included. The same object when it has all of
 * them. `completions` and `parallelism` both absent mean one Pod; `parallelism` alone leaves `completions` absent, which
 * makes the Job a work queue: it is complete when one Pod has succeeded and the others have ended.
 */
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
    // KEP-3939: a failure policy judges only Pods that have ended, so a replacement must wait for the end too.
    podReplacementPolicy: objectAt(counted, "podFailurePolicy") === undefined ? "TerminatingOrFailed" : "Failed",
  });
  const judged = mapMember(filled, "podFailurePolicy", (policy) => mapItems(policy, "rules", withWantedConditions));
  return mapMember(judged, "template", (template) => mapMember(template, "spec", withPodSpecDefaults));
}

/** A rule that names a condition and nothing else means that it is true. */
const withWantedConditions = (rule: JsonObject): JsonObject =>
  mapItems(rule, "onPodConditions", (condition) => withUnset(condition, { status: "True" }));
