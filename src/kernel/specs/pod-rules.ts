import {
  type FieldPath,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { labelRule, qualifiedNameRule, subdomainRule } from "#kernel/model/index.ts";
import { checkContainer, checkIds } from "./container-rules.ts";
import { checkNotNegative, checkOneOf, type Findings, type Report } from "./findings.ts";
import { checkLabelMap, checkPlacement } from "./placement-rules.ts";
import { checkVolumes } from "./volume-rules.ts";

// Kubernetes' core/v1 validation of a PodSpec, and the limits of this server's Pod runner, kept apart (see Findings).

/** Unsupported features that change what a Pod does: it is refused. */
const refused: readonly (readonly [readonly string[], string])[] = [
  [["ephemeralContainers"], "ephemeral containers are not supported"],
  [["resourceClaims"], "dynamic resource allocation is not supported"],
  [["runtimeClassName"], "runtime classes are not supported"],
  [["schedulingGates"], "scheduling gates are not supported"],
  [["schedulingGroup"], "scheduling groups are not supported"],
  [["hostPID"], "sharing the host's process namespace is not permitted"],
  [["hostIPC"], "sharing the host's IPC namespace is not permitted"],
  [["securityContext", "windowsOptions"], "Windows containers are not supported"],
];

/** Features for clusters of several machines: kept, with a warning. */
const ignored = [
  ["affinity", "podAffinity"],
  ["affinity", "podAntiAffinity"],
  ["affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"],
  ["topologySpreadConstraints"],
  ["priorityClassName"],
  ["tolerations"],
  ["dnsConfig"],
  ["readinessGates"],
];

/** Whether a feature is requested: clients write zero values for "no". */
const isAsked = (value: unknown): boolean =>
  value !== undefined && value !== false && value !== "" && !(Array.isArray(value) && value.length === 0);

/** Checks a PodSpec with its defaults, in a Pod or a template. Owners check restrictions of templates. */
export function checkPodSpec(spec: JsonObject, at: FieldPath, found: Findings): void {
  const report: Report = (error) => found.errors.push(error);
  const refuse: Report = (error) => found.unsupported.push(error);
  for (const [path, why] of refused) {
    if (isAsked(valueAt(spec, ...path))) refuse(fieldError.forbidden([...at, ...path], why));
  }
  for (const path of ignored) {
    if (isAsked(valueAt(spec, ...path)))
      found.warnings.push(`${[...at, ...path].join(".")}: has no effect on this server`);
  }
  checkOneOf(spec, "restartPolicy", ["Always", "OnFailure", "Never"], at, report);
  checkOneOf(spec, "dnsPolicy", ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], at, report);
  checkNumbers(spec, at, report);
  checkNames(spec, at, report);
  checkPlacement(spec, at, report);
  const context = objectAt(spec, "securityContext") ?? {};
  checkIds(context, ["runAsUser", "runAsGroup", "fsGroup"], [...at, "securityContext"], report);
  if (textAt(spec, "dnsPolicy") === "None" && listAt(spec, "dnsConfig", "nameservers").length === 0)
    report(fieldError.required([...at, "dnsConfig", "nameservers"], "at least one is needed when dnsPolicy is None"));
  const volumes = checkVolumes(spec, at, report, refuse);
  checkContainers(spec, at, volumes, report, refuse);
}

/** A deadline of 0 would end the Pod before it starts; a grace period of 0 is valid. */
function checkNumbers(spec: JsonObject, at: FieldPath, report: Report) {
  checkNotNegative(spec, ["terminationGracePeriodSeconds"], at, report);
  const deadline = numberAt(spec, "activeDeadlineSeconds");
  if (deadline !== undefined && (deadline < 1 || deadline > 2_147_483_647)) {
    report(fieldError.invalid([...at, "activeDeadlineSeconds"], deadline, "must be between 1 and 2147483647"));
  }
}

function checkNames(spec: JsonObject, at: FieldPath, report: Report) {
  const rules = {
    nodeName: subdomainRule,
    serviceAccountName: subdomainRule,
    hostname: labelRule,
    subdomain: labelRule,
  };
  for (const [name, rule] of Object.entries(rules)) {
    const value = textAt(spec, name);
    const problem = value === undefined ? undefined : rule(value);
    if (problem !== undefined) report(fieldError.invalid([...at, name], value, problem));
  }
}

/** Containers and init containers share one set of names. */
function checkContainers(
  spec: JsonObject,
  at: FieldPath,
  volumes: ReadonlySet<string>,
  report: Report,
  refuse: Report,
) {
  if (listAt(spec, "containers").length === 0) report(fieldError.required([...at, "containers"]));
  const names = new Set<string>();
  for (const member of ["containers", "initContainers"]) {
    for (const [index, container] of objectsAt(spec, member).entries()) {
      const here = [...at, member, index];
      checkContainer(container, here, volumes, report);
      checkRestartPolicy(container, member, here, report);
      if (spec["hostNetwork"] === true) checkHostPorts(container, here, report);
      if (isAsked(objectAt(container, "securityContext", "windowsOptions"))) {
        refuse(
          fieldError.forbidden([...here, "securityContext", "windowsOptions"], "Windows containers are not supported"),
        );
      }
      const name = textAt(container, "name");
      if (name === undefined) continue;
      if (names.has(name)) report(fieldError.duplicate([...here, "name"], name));
      names.add(name);
    }
  }
}

/** Host ports are not mapped. In templates they are still absent. */
function checkHostPorts(container: JsonObject, at: FieldPath, report: Report) {
  for (const [index, port] of objectsAt(container, "ports").entries()) {
    const hostPort = numberAt(port, "hostPort") ?? 0;
    if (hostPort !== 0 && hostPort !== port["containerPort"]) {
      const detail = "must match `containerPort` when `hostNetwork` is true";
      report(fieldError.invalid([...at, "ports", index, "hostPort"], hostPort, detail));
    }
  }
}

/** Only an init container may have a restart policy, making it a sidecar (KEP-753). Others have no probes and hooks. */
function checkRestartPolicy(container: JsonObject, member: string, at: FieldPath, report: Report) {
  const policy = textAt(container, "restartPolicy");
  if (member === "containers") {
    if (policy !== undefined)
      report(fieldError.forbidden([...at, "restartPolicy"], "may not be set for non-init containers"));
    return;
  }
  if (policy !== undefined && policy !== "Always")
    report(fieldError.notSupported([...at, "restartPolicy"], policy, ["Always"]));
  if (policy === "Always") return;
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"]) {
    if (objectAt(container, name) !== undefined) {
      report(fieldError.forbidden([...at, name], "may not be set for init containers without restartPolicy=Always"));
    }
  }
}

/** Labels and annotations of a Pod template are checked like an object's own. */
export function checkTemplateMetadata(template: JsonObject, at: FieldPath, found: Findings): void {
  const report: Report = (error) => found.errors.push(error);
  checkLabelMap(objectAt(template, "metadata", "labels"), [...at, "metadata", "labels"], report);
  for (const key of Object.keys(objectAt(template, "metadata", "annotations") ?? {})) {
    // As in Kubernetes: keys of annotations may have capitals.
    const problem = qualifiedNameRule(key.toLowerCase());
    if (problem !== undefined) found.errors.push(fieldError.invalid([...at, "metadata", "annotations"], key, problem));
  }
}
