import { type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Pod } from "#kernel/model/index.ts";
import {
  checkPodSpec,
  definitionNames,
  mapMember,
  qosClassOf,
  scalarText,
  withAbsent,
  withMembers,
  withPodSpecDefaults,
  withPortsOfHost,
  withRequestsOfLimits,
} from "#kernel/specs/index.ts";
import { podTable } from "../tables/pod.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { podUpdateRule } from "./pod-update-rules.ts";

/**
 * What admission adds to a new Pod, but not to templates: the account it runs as, under its old name and its new one. Whether it exists,
 * and its token, is for the write itself to see (`verbs/account-access.ts`).
 */
const withAdmitted = (pod: JsonObject): JsonObject =>
  mapMember(pod, "spec", (spec) => {
    const account = textAt(spec, "serviceAccountName") ?? "default";
    return withMembers(spec, { serviceAccountName: account, serviceAccount: account });
  });

/**
 * A client that does not say which account keeps the one admission has chosen at creation: `kubectl replace` sends the file its
 * user wrote, which never had one.
 */
const withSameAccount = (pod: JsonObject, old: JsonObject): JsonObject =>
  mapMember(pod, "spec", (spec) => {
    if (textAt(spec, "serviceAccountName") !== undefined) return spec;
    const account = valueAt(old, "spec", "serviceAccountName");
    return withMembers(spec, { serviceAccountName: account, serviceAccount: account });
  });

/** Everything about the spec itself; Job templates are held to the same rules. */
const podRule: Rule = (pod, found) => checkPodSpec(objectAt(pod, "spec") ?? {}, ["spec"], found);

/**
 * A Pod that ended has ended: nobody may bring it back by a late report. Kubernetes' kubelet sees to that by itself; here reports can
 * come from a runner that was away for a while.
 */
const endedStaysEnded: Rule = (pod, { errors }, old) => {
  const phase = textAt(pod, "status", "phase");
  const before = textAt(old, "status", "phase");
  const ended = before === "Succeeded" || before === "Failed";
  if (ended && phase !== before) errors.push(fieldError.forbidden("status.phase", `a pod that is ${before} stays so`));
};

/** All addresses, separated by commas, as Kubernetes offers them to field selectors. */
const ipsOf = (pod: JsonObject): string =>
  objectsAt(pod, "status", "podIPs")
    .map((entry) => scalarText(entry["ip"]))
    .join(",");

/**
 * Pods have no generation: their spec hardly changes. A new Pod is Pending, whatever status was sent; `nodeName` of the request stays,
 * which is how a Pod is bound at birth.
 */
export const podKind: BuiltIn = {
  type: Pod,
  definition: definitionNames.pod,
  table: podTable,
  subresources: ["status", "log", "exec", "attach", "portforward", "eviction"],
  gracePeriodSeconds: graceOf,
  defaults: (pod) =>
    mapMember(pod, "spec", (spec) =>
      withAbsent(withPortsOfHost(withRequestsOfLimits(withPodSpecDefaults(spec))), { enableServiceLinks: true }),
    ),
  prepareForCreate: (pod) => {
    const admitted = withAdmitted(pod);
    return { ...admitted, status: { phase: "Pending", qosClass: qosClassOf(objectAt(admitted, "spec") ?? {}) } };
  },
  prepareForUpdate: withSameAccount,
  rules: [podRule],
  updateRules: [podUpdateRule],
  statusRules: [endedStaysEnded],
  fields: {
    "spec.nodeName": textField("spec", "nodeName"),
    "spec.restartPolicy": textField("spec", "restartPolicy"),
    "spec.schedulerName": textField("spec", "schedulerName"),
    "spec.serviceAccountName": textField("spec", "serviceAccountName"),
    "spec.hostNetwork": (pod) => String(valueAt(pod, "spec", "hostNetwork") === true),
    "status.phase": textField("status", "phase"),
    "status.podIP": textField("status", "podIP"),
    "status.podIPs": ipsOf,
    "status.nominatedNodeName": textField("status", "nominatedNodeName"),
  },
};

/** Seconds; 30 when the spec does not say. A Pod that never reached a machine, or has ended, has nothing to end politely. */
function graceOf(pod: JsonObject): number {
  const phase = textAt(pod, "status", "phase");
  const isIdle = textAt(pod, "spec", "nodeName") === undefined || phase === "Succeeded" || phase === "Failed";
  return isIdle ? 0 : Math.max(0, numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 30);
}
