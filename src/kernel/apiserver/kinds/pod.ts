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

/** Admission adds the account to new Pods; `verbs/account-access.ts` checks it and adds its token. */
const withAdmitted = (pod: JsonObject): JsonObject =>
  mapMember(pod, "spec", (spec) => {
    const account = textAt(spec, "serviceAccountName") ?? "default";
    return withMembers(spec, { serviceAccountName: account, serviceAccount: account });
  });

/** Keeps the account: `kubectl replace` sends the user's file, which has none. */
const withSameAccount = (pod: JsonObject, old: JsonObject): JsonObject =>
  mapMember(pod, "spec", (spec) => {
    if (textAt(spec, "serviceAccountName") !== undefined) return spec;
    const account = valueAt(old, "spec", "serviceAccountName");
    return withMembers(spec, { serviceAccountName: account, serviceAccount: account });
  });

const podRule: Rule = (pod, found) => checkPodSpec(objectAt(pod, "spec") ?? {}, ["spec"], found);

/** A late report, for example of a runner that was away, must not revive an ended Pod. */
const endedStaysEnded: Rule = (pod, { errors }, old) => {
  const phase = textAt(pod, "status", "phase");
  const before = textAt(old, "status", "phase");
  const ended = before === "Succeeded" || before === "Failed";
  if (ended && phase !== before) errors.push(fieldError.forbidden("status.phase", `a pod that is ${before} stays so`));
};

/** Comma-separated, as in Kubernetes. */
const ipsOf = (pod: JsonObject): string =>
  objectsAt(pod, "status", "podIPs")
    .map((entry) => scalarText(entry["ip"]))
    .join(",");

/** A new Pod is Pending; `nodeName` in the request binds it. */
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

/** Seconds; 0 for a Pod that is not running. */
function graceOf(pod: JsonObject): number {
  const phase = textAt(pod, "status", "phase");
  const isIdle = textAt(pod, "spec", "nodeName") === undefined || phase === "Succeeded" || phase === "Failed";
  return isIdle ? 0 : Math.max(0, numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 30);
}
