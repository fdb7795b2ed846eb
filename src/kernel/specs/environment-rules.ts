import { type FieldPath, type JsonObject, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import { checkNamed, checkUnion, type Report } from "./findings.ts";

// Sources of a container's variables and files.

/** Fields for the downward API, besides `metadata.labels` and `metadata.annotations`. */
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

/** Checks `env` and `envFrom`. The later of two variables wins. Keys that cannot be names are skipped at start. */
export function checkEnvironment(container: JsonObject, at: FieldPath, report: Report) {
  for (const [index, variable] of objectsAt(container, "env").entries())
    checkVariable(variable, [...at, "env", index], report);
  for (const [index, source] of objectsAt(container, "envFrom").entries()) {
    const here = [...at, "envFrom", index];
    checkUnion(source, ["configMapRef", "secretRef"], here, report);
    for (const kind of ["configMapRef", "secretRef"]) checkName(source, kind, here, report);
  }
}

/** A value or exactly one source. An empty value may stand beside a source. */
function checkVariable(variable: JsonObject, at: FieldPath, report: Report) {
  const name = textAt(variable, "name");
  if (name === undefined) report(fieldError.required([...at, "name"]));
  // Kubernetes' relaxed names (KEP-4369): anything printable but "=".
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

/** The name of the ConfigMap or Secret that the member refers to. Whether it exists is for the runner to check. */
function checkName(source: JsonObject, member: string, at: FieldPath, report: Report) {
  const reference = objectAt(source, member);
  if (reference !== undefined) checkNamed(reference, "name", subdomainRule, [...at, member], report);
}

/** Checks `fieldRef` or `resourceFieldRef` of `source`, which may be absent. */
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

/** Resources that can be shown, besides huge pages. */
const shownResources = ["limits", "requests"].flatMap((kind) =>
  ["cpu", "memory", "ephemeral-storage"].map((resource) => `${kind}.${resource}`),
);

/** One of `fieldPaths`, `metadata.labels`, `metadata.annotations`, or one key of these as `metadata.labels['app']`. */
function checkFieldPath(path: unknown, at: FieldPath, report: Report) {
  if (typeof path !== "string" || path === "") return report(fieldError.required(at));
  const isMapMember = /^metadata\.(?:labels|annotations)(?:\['[^']+'\])?$/.test(path);
  if (!isMapMember && !fieldPaths.includes(path)) report(fieldError.notSupported(at, path, fieldPaths));
}
