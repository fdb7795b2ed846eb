import { type FieldPath, type JsonObject, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import { checkUnion, type Report } from "./findings.ts";

// Where variables and files of a container come from.

/** Fields of the Pod that downward API variables and files may show, besides `metadata.labels` and `metadata.annotations`. */
const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

/**
 * Adds what is wrong with `env` and `envFrom` of a container. Two variables of one name are allowed: the later one wins, as for
 * Kubernetes. Sources of `envFrom` are whole objects, whose keys become names; those that cannot be names are left out at the start.
 */
export function checkEnvironment(container: JsonObject, at: FieldPath, report: Report) {
  for (const [index, variable] of objectsAt(container, "env").entries())
    checkVariable(variable, [...at, "env", index], report);
  for (const [index, source] of objectsAt(container, "envFrom").entries()) {
    const here = [...at, "envFrom", index];
    checkUnion(source, ["configMapRef", "secretRef"], here, report);
    for (const kind of ["configMapRef", "secretRef"]) checkName(source, kind, here, report);
  }
}

/** A value as it is, or from exactly one place. An empty value is none, and may stand beside a source. */
function checkVariable(variable: JsonObject, at: FieldPath, report: Report) {
  const name = textAt(variable, "name");
  if (name === undefined) report(fieldError.required([...at, "name"]));
  // Kubernetes' relaxed names (KEP-4369): a process gets `NAME=value`, so nothing but "=" has to be kept out.
  else if (!/^[ -<>-~]+$/.test(name))
    report(fieldError.invalid([...at, "name"], name, 'must consist of printable ASCII characters other than "="'));
  const source = objectAt(variable, "valueFrom");
  if (source === undefined) return;
  const from = [...at, "valueFrom"];
  if (textAt(variable, "value") !== undefined)
    report(fieldError.invalid(from, "", "may not be specified when `value` is not empty"));
  checkUnion(source, ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"], from, report);
  checkPodFacts(source, from, report);
  for (const kind of ["configMapKeyRef", "secretKeyRef"]) {
    checkName(source, kind, from, report);
    if (objectAt(source, kind) !== undefined && textAt(source, kind, "key") === undefined)
      report(fieldError.required([...from, kind, "key"]));
  }
}

/** The name of the ConfigMap or Secret that the member refers to. Whether there is one, only the runner can tell. */
function checkName(source: JsonObject, member: string, at: FieldPath, report: Report) {
  if (objectAt(source, member) === undefined) return;
  const here = [...at, member, "name"];
  const name = textAt(source, member, "name");
  const problem = name === undefined ? undefined : subdomainRule(name);
  if (name === undefined) report(fieldError.required(here));
  else if (problem !== undefined) report(fieldError.invalid(here, name, problem));
}

/** What a variable or a file shows of its own Pod: `fieldRef` or `resourceFieldRef` of `source`. Absent is allowed. */
export function checkPodFacts(source: JsonObject, at: FieldPath, report: Report): void {
  if (objectAt(source, "fieldRef") !== undefined)
    checkFieldPath(valueAt(source, "fieldRef", "fieldPath"), [...at, "fieldRef", "fieldPath"], report);
  const reference = objectAt(source, "resourceFieldRef");
  if (reference === undefined) return;
  const resource = textAt(reference, "resource");
  const here = [...at, "resourceFieldRef", "resource"];
  if (resource === undefined) report(fieldError.required(here));
  else if (!shownResources.includes(resource) && !/^(?:limits|requests)\.hugepages-./.test(resource))
    report(fieldError.notSupported(here, resource, shownResources));
}

/** Amounts of a container that can be shown, besides its huge pages. */
const shownResources = ["limits", "requests"].flatMap((kind) =>
  ["cpu", "memory", "ephemeral-storage"].map((resource) => `${kind}.${resource}`),
);

/**
 * A field of the Pod that a variable or file may show: one of the list above, or `metadata.labels`, `metadata.annotations`, or one
 * key of them as `metadata.labels['app']`.
 */
function checkFieldPath(path: unknown, at: FieldPath, report: Report) {
  if (typeof path !== "string" || path === "") return report(fieldError.required(at));
  const isMapMember = /^metadata\.(?:labels|annotations)(?:\['[^']+'\])?$/.test(path);
  if (!isMapMember && !fieldPaths.includes(path)) report(fieldError.notSupported(at, path, fieldPaths));
}
