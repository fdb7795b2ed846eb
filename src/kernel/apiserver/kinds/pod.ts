import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
  isJsonObject,
  jsonEquals,
  type JsonValue,
  listAt,
} from "#lib/base/index.ts";
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
  type Findings,
  mapItems,
} from "#kernel/specs/index.ts";
import { podTable } from "../tables/pod.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { parseQuantity } from "#lib/text/index.ts";

// Kubernetes' ValidatePodUpdate. The node is set once, by an update instead of a subresource.

const podUpdateRule: Rule = (pod, found, old) => {
  const [spec, oldSpec] = [objectAt(pod, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  if (jsonEquals(spec, oldSpec) || !hasSameContainers(spec, oldSpec, found)) return;
  checkDeadline(spec, oldSpec, found);
  checkTolerations(spec, oldSpec, found);
  const changed = changedFields(fixedPart(spec, oldSpec), fixedPart(oldSpec, oldSpec));
  if (changed.length === 0) return;
  const detail =
    "pod updates may not change fields other than spec.containers[*].image, spec.initContainers[*].image, " +
    `spec.activeDeadlineSeconds and spec.tolerations (additions only); found changes of ${changed.join(", ")}`;
  found.errors.push(fieldError.forbidden("spec", detail));
};

/** Containers are compared by position. */
function hasSameContainers(spec: JsonObject, old: JsonObject, { errors }: Findings): boolean {
  const differing = (["containers", "initContainers"] as const).filter(
    (member) => listAt(spec, member).length !== listAt(old, member).length,
  );
  for (const member of differing) {
    const what = member === "containers" ? "containers" : "init containers";
    errors.push(fieldError.forbidden(`spec.${member}`, `pod updates may not add or remove ${what}`));
  }
  return differing.length === 0;
}

/** A deadline may be added or shortened, not extended or removed. */
function checkDeadline(spec: JsonObject, old: JsonObject, { errors }: Findings) {
  const [deadline, before] = [numberAt(spec, "activeDeadlineSeconds"), numberAt(old, "activeDeadlineSeconds")];
  if (before === undefined || (deadline !== undefined && deadline <= before)) return;
  const detail =
    deadline === undefined
      ? "must not update from a positive integer to nil value"
      : `must be less than or equal to the previous value ${before}`;
  errors.push(fieldError.invalid("spec.activeDeadlineSeconds", deadline ?? null, detail));
}

/** Tolerations may be added; only their tolerationSeconds may change. */
function checkTolerations(spec: JsonObject, old: JsonObject, { errors }: Findings) {
  const withoutTime = (value: JsonValue | undefined): JsonObject =>
    isJsonObject(value) ? withMembers(value, { tolerationSeconds: undefined }) : {};
  const textOf = (toleration: JsonValue) => canonicalJson(withoutTime(toleration));
  const left = new Set(listAt(spec, "tolerations").map(textOf));
  const isKept = (toleration: JsonValue) => left.has(textOf(toleration));
  if (listAt(old, "tolerations").every(isKept)) return;
  const detail = "existing toleration can not be modified except its tolerationSeconds";
  errors.push(fieldError.forbidden("spec.tolerations", detail));
}

/** The immutable part in a normal form: `cpu: 1` equals `cpu: "1000m"`. `old` shows whether the Pod is bound. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const container = (one: JsonObject) =>
    mapMember(withMembers(one, { image: undefined }), "resources", (resources) =>
      mapMember(mapMember(resources, "limits", withPlainAmounts), "requests", withPlainAmounts),
    );
  const plain = ["containers", "initContainers"].reduce((value, member) => mapItems(value, member, container), spec);
  const bound = textAt(old, "nodeName") === undefined ? { nodeName: undefined } : {};
  const free = { activeDeadlineSeconds: undefined, tolerations: undefined, ...bound };
  const fixed = withoutEmptyLists(withMembers(plain, free));
  return isJsonObject(fixed) ? fixed : {};
}

/** `1`, `"1"` and `"1000m"` are the same amount. */
const withPlainAmounts = (amounts: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => {
      const quantity = parseQuantity(scalarText(amount));
      return [name, quantity.ok ? String(quantity.value.nano) : amount];
    }),
  );

/** An empty list equals none in a Pod; an empty object does not (`emptyDir: {}`). */
function withoutEmptyLists(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutEmptyLists);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, member]): [string, JsonValue][] =>
    member === undefined || (Array.isArray(member) && member.length === 0) ? [] : [[name, withoutEmptyLists(member)]],
  );
  return Object.fromEntries(kept);
}

const changedFields = (spec: JsonObject, old: JsonObject): readonly string[] =>
  [...new Set([...Object.keys(old), ...Object.keys(spec)])]
    .filter((name) => !jsonEquals(spec[name], old[name]))
    .map((name) => `spec.${name}`);

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
