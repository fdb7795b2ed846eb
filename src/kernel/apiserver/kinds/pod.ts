import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Pod } from "#kernel/model/index.ts";
import { podTable } from "../tables/pod.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { definitionNames } from "./definitions.ts";
import { qosClassOf, withPodSpecDefaults } from "./pod-defaults.ts";
import { checkPodSpec } from "./pod-rules.ts";
import {
  mapItems,
  mapMember,
  numberAt,
  objectAt,
  objectsAt,
  scalarText,
  textAt,
  valueAt,
  withAbsent,
  withMembers,
} from "./read.ts";

/** What admission adds to a new pod, but not to templates. */
const withAdmitted = (pod: JsonObject): JsonObject =>
  mapMember(pod, "spec", (spec) => {
    const account = textAt(spec, "serviceAccountName") ?? "default";
    return withMembers(spec, { serviceAccountName: account, serviceAccount: account });
  });

const podRule: Rule = (pod, found) => checkPodSpec(objectAt(pod, "spec") ?? {}, ["spec"], found);

/**
 * A running pod keeps its spec, but for images, deadlines that become shorter, the grace period when it was negative, and the node
 * it is bound to, once.
 */
const specIsImmutable: Rule = (pod, { errors }, old) => {
  const [spec, oldSpec] = [objectAt(pod, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  if (jsonEquals(fixedPart(spec, oldSpec), fixedPart(oldSpec, oldSpec))) {
    checkDeadline(spec, oldSpec, errors);
    return;
  }
  const detail =
    "pod updates may not change fields other than spec.containers[*].image, spec.initContainers[*].image, spec.activeDeadlineSeconds and spec.tolerations";
  errors.push(fieldError.forbidden("spec", detail));
};

/** The spec with everything that may change set to what it was. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const imageless = ["containers", "initContainers"].reduce(
    (value, member) => mapItems(value, member, (container) => withMembers(container, { image: undefined })),
    spec,
  );
  const bound = textAt(old, "nodeName") === undefined ? { nodeName: undefined } : {};
  return withMembers(imageless, { activeDeadlineSeconds: undefined, tolerations: undefined, ...bound });
}

function checkDeadline(
  spec: JsonObject,
  old: JsonObject,
  errors: { push(error: ReturnType<typeof fieldError.invalid>): unknown },
) {
  const [deadline, before] = [numberAt(spec, "activeDeadlineSeconds"), numberAt(old, "activeDeadlineSeconds")];
  if (before === undefined || (deadline !== undefined && deadline <= before)) return;
  const detail = `must be less than or equal to the previous value ${before}`;
  errors.push(fieldError.invalid("spec.activeDeadlineSeconds", deadline ?? "", detail));
}

/** A pod that ended has ended: nobody may bring it back by a late report. */
const endedStaysEnded: Rule = (pod, { errors }, old) => {
  const phase = textAt(pod, "status", "phase");
  const before = textAt(old, "status", "phase");
  const ended = before === "Succeeded" || before === "Failed";
  if (ended && phase !== before) errors.push(fieldError.forbidden("status.phase", `a pod that is ${before} stays so`));
};

const ipsOf = (pod: JsonObject): string =>
  objectsAt(pod, "status", "podIPs")
    .map((entry) => scalarText(entry["ip"]))
    .join(",");

export const podKind: BuiltIn = {
  type: Pod,
  definition: definitionNames.pod,
  table: podTable,
  subresources: ["status", "log"],
  gracePeriodSeconds: graceOf,
  defaults: (pod) =>
    mapMember(pod, "spec", (spec) => withAbsent(withPodSpecDefaults(spec), { enableServiceLinks: true })),
  prepareForCreate: (pod) => {
    const admitted = withAdmitted(pod);
    return { ...admitted, status: { phase: "Pending", qosClass: qosClassOf(objectAt(admitted, "spec") ?? {}) } };
  },
  rules: [podRule],
  updateRules: [specIsImmutable],
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

/** A pod that never reached a machine, or has ended, has nothing to end politely. */
function graceOf(pod: JsonObject): number {
  const phase = textAt(pod, "status", "phase");
  const isIdle = textAt(pod, "spec", "nodeName") === undefined || phase === "Succeeded" || phase === "Failed";
  return isIdle ? 0 : Math.max(0, numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 30);
}
