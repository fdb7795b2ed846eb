import type { FieldPath, JsonObject } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { labelRule, labelValueRule, qualifiedNameRule, subdomainRule } from "../verbs/names.ts";
import type { Findings } from "./built-in.ts";
import { checkContainer, checkFieldPath, checkOneOf, checkUnion, type Report } from "./container-rules.ts";
import { listAt, numberAt, objectAt, objectsAt, scalarText, textAt, valueAt } from "./read.ts";

/** Volume sources the local pod runner knows how to make. */
const volumeSources = [
  "emptyDir",
  "configMap",
  "secret",
  "projected",
  "downwardAPI",
  "hostPath",
  "persistentVolumeClaim",
];

/** Features that cannot be left out without changing what the pod does: a pod that asks for them is refused. */
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

/** Features that only concern clusters of several machines: they are kept, and said to be without effect. */
const ignored = [
  "affinity",
  "topologySpreadConstraints",
  "priorityClassName",
  "tolerations",
  "dnsConfig",
  "readinessGates",
];

const isAsked = (value: unknown): boolean =>
  value !== undefined && value !== false && value !== "" && !(Array.isArray(value) && value.length === 0);

/** Everything wrong with a pod spec, in a pod or in a template. */
export function checkPodSpec(spec: JsonObject, at: FieldPath, found: Findings): void {
  const report: Report = (error) => found.errors.push(error);
  for (const [path, why] of refused) {
    if (isAsked(valueAt(spec, ...path))) report(fieldError.forbidden([...at, ...path], why));
  }
  for (const name of ignored) {
    if (isAsked(valueAt(spec, name))) found.warnings.push(`${[...at, name].join(".")}: has no effect on this server`);
  }
  checkOneOf(spec, "restartPolicy", ["Always", "OnFailure", "Never"], at, report);
  checkOneOf(spec, "dnsPolicy", ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], at, report);
  checkNumbers(spec, at, report);
  checkNames(spec, at, report);
  const volumes = checkVolumes(spec, at, report);
  checkContainers(spec, at, volumes, report);
}

function checkNumbers(spec: JsonObject, at: FieldPath, report: Report) {
  const grace = numberAt(spec, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace < 0) {
    report(fieldError.invalid([...at, "terminationGracePeriodSeconds"], grace, "must be greater than or equal to 0"));
  }
  const deadline = numberAt(spec, "activeDeadlineSeconds");
  if (deadline !== undefined && deadline < 1) {
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

function checkContainers(spec: JsonObject, at: FieldPath, volumes: ReadonlySet<string>, report: Report) {
  if (listAt(spec, "containers").length === 0) report(fieldError.required([...at, "containers"]));
  const names = new Set<string>();
  for (const member of ["containers", "initContainers"]) {
    for (const [index, container] of objectsAt(spec, member).entries()) {
      const here = [...at, member, index];
      checkContainer(container, here, volumes, report);
      checkRestartPolicy(container, member, here, report);
      if (isAsked(objectAt(container, "securityContext", "windowsOptions"))) {
        report(
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

/** Only an init container may have a restart policy, which makes it a sidecar; and only a sidecar is probed. */
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

/** Checks the volumes and returns their names. */
function checkVolumes(spec: JsonObject, at: FieldPath, report: Report): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of objectsAt(spec, "volumes").entries()) {
    const here = [...at, "volumes", index];
    const name = textAt(volume, "name");
    const problem = name === undefined ? undefined : labelRule(name);
    if (name === undefined) report(fieldError.required([...here, "name"]));
    else if (problem !== undefined) report(fieldError.invalid([...here, "name"], name, problem));
    else if (names.has(name)) report(fieldError.duplicate([...here, "name"], name));
    names.add(name ?? "");
    checkVolumeSource(volume, here, report);
  }
  return names;
}

function checkVolumeSource(volume: JsonObject, at: FieldPath, report: Report) {
  const sources = Object.keys(volume).filter((name) => name !== "name" && valueAt(volume, name) !== undefined);
  const known = sources.filter((name) => volumeSources.includes(name));
  for (const name of sources.filter((source) => !volumeSources.includes(source))) {
    report(
      fieldError.forbidden(
        [...at, name],
        `this type of volume is not supported; supported types: ${volumeSources.join(", ")}`,
      ),
    );
  }
  for (const name of known.slice(1))
    report(fieldError.forbidden([...at, name], "may not specify more than 1 volume type"));
  const required = { configMap: "name", secret: "secretName", hostPath: "path", persistentVolumeClaim: "claimName" };
  for (const [source, field] of Object.entries(required)) {
    if (known.includes(source) && textAt(volume, source, field) === undefined)
      report(fieldError.required([...at, source, field]));
  }
  for (const [index, item] of objectsAt(volume, "downwardAPI", "items").entries()) {
    checkDownwardItem(item, [...at, "downwardAPI", "items", index], report);
  }
  for (const [index, source] of objectsAt(volume, "projected", "sources").entries()) {
    checkUnion(
      source,
      ["configMap", "secret", "downwardAPI", "serviceAccountToken"],
      [...at, "projected", "sources", index],
      report,
    );
  }
}

function checkDownwardItem(item: JsonObject, at: FieldPath, report: Report) {
  checkUnion(item, ["fieldRef", "resourceFieldRef"], at, report);
  if (objectAt(item, "fieldRef") !== undefined) {
    checkFieldPath(valueAt(item, "fieldRef", "fieldPath"), [...at, "fieldRef", "fieldPath"], report);
  }
  if (textAt(item, "path") === undefined) report(fieldError.required([...at, "path"]));
}

/** Labels and annotations of a pod template, which become those of pods. */
export function checkTemplateMetadata(template: JsonObject, at: FieldPath, found: Findings): void {
  for (const [key, value] of Object.entries(objectAt(template, "metadata", "labels") ?? {})) {
    const here = [...at, "metadata", "labels"];
    const keyProblem = qualifiedNameRule(key);
    const valueProblem = labelValueRule(scalarText(value));
    if (keyProblem !== undefined) found.errors.push(fieldError.invalid(here, key, keyProblem));
    if (valueProblem !== undefined) found.errors.push(fieldError.invalid([...here, key], value, valueProblem));
  }
}
