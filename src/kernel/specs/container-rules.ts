import { type FieldPath, type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { compareQuantities, parseQuantity } from "#lib/text/index.ts";
import { labelRule, qualifiedNameRule } from "#kernel/model/index.ts";
import { checkEnvironment } from "./environment-rules.ts";
import { checkOneOf, type Report } from "./findings.ts";
import { checkLifecycle, checkProbe, isPort, portDetail, portNameProblem } from "./handler-rules.ts";
import { scalarText } from "./read.ts";

// Rules of one container, in a Pod or in a template, as Kubernetes' core/v1 validation has them. They run after defaults and type
// checks, and say nothing of a value that is absent unless it is required. Every function adds to `report` under `at`, the path
// of what it looks at, and goes on: all errors come at once.

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const protocols = ["TCP", "UDP", "SCTP"];
/**
 * Adds what is wrong with a container. `volumes` are the names of the Pod's volumes, which is all that mounts are checked
 * against; that two containers share a name is for the caller to find, who sees them all.
 */
export function checkContainer(container: JsonObject, at: FieldPath, volumes: ReadonlySet<string>, report: Report) {
  const name = textAt(container, "name");
  const problem = name === undefined ? undefined : labelRule(name);
  if (name === undefined) report(fieldError.required([...at, "name"]));
  else if (problem !== undefined) report(fieldError.invalid([...at, "name"], name, problem));
  const image = valueAt(container, "image");
  if (image === undefined || image === "") report(fieldError.required([...at, "image"]));
  else if (image !== scalarText(image).trim())
    report(fieldError.invalid([...at, "image"], image, "must not have leading or trailing blanks"));
  checkOneOf(container, "imagePullPolicy", pullPolicies, at, report);
  checkOneOf(container, "terminationMessagePolicy", messagePolicies, at, report);
  checkPorts(container, at, report);
  checkEnvironment(container, at, report);
  checkMounts(container, at, volumes, report);
  checkResources(container, at, report);
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) checkProbe(container, probe, at, report);
  checkLifecycle(container, at, report);
  checkSecurity(container, at, report);
}

/** `hostPort` may be left out, `containerPort` may not. Names of ports are unique within the container; numbers need not be. */
function checkPorts(container: JsonObject, at: FieldPath, report: Report) {
  const names = new Set<string>();
  for (const [index, port] of objectsAt(container, "ports").entries()) {
    const here = [...at, "ports", index];
    const number = numberAt(port, "containerPort") ?? 0;
    if (number === 0) report(fieldError.required([...here, "containerPort"]));
    else if (!isPort(number)) report(fieldError.invalid([...here, "containerPort"], number, portDetail));
    const hostPort = numberAt(port, "hostPort") ?? 0;
    if (hostPort !== 0 && !isPort(hostPort)) report(fieldError.invalid([...here, "hostPort"], hostPort, portDetail));
    checkOneOf(port, "protocol", protocols, here, report);
    const name = textAt(port, "name");
    if (name === undefined) continue;
    const problem = portNameProblem(name);
    if (problem !== undefined) report(fieldError.invalid([...here, "name"], name, problem));
    else if (names.has(name)) report(fieldError.duplicate([...here, "name"], name));
    names.add(name);
  }
}

/** A mount names a volume of the Pod and a place of its own; `subPath` may not lead out of the volume. */
function checkMounts(container: JsonObject, at: FieldPath, volumes: ReadonlySet<string>, report: Report) {
  const paths = new Set<string>();
  for (const [index, mount] of objectsAt(container, "volumeMounts").entries()) {
    const here = [...at, "volumeMounts", index];
    const name = textAt(mount, "name");
    if (name === undefined) report(fieldError.required([...here, "name"]));
    else if (!volumes.has(name)) report(fieldError.notFound([...here, "name"], name));
    const path = textAt(mount, "mountPath");
    if (path === undefined) report(fieldError.required([...here, "mountPath"]));
    else if (paths.has(path)) report(fieldError.invalid([...here, "mountPath"], path, "must be unique"));
    paths.add(path ?? "");
    const inner = textAt(mount, "subPath") ?? "";
    if (inner.startsWith("/") || inner.split("/").includes("..")) {
      report(fieldError.invalid([...here, "subPath"], inner, 'must be a relative path without ".."'));
    }
    if (inner !== "" && textAt(mount, "subPathExpr") !== undefined)
      report(fieldError.invalid([...here, "subPathExpr"], mount["subPathExpr"], "excludes subPath"));
  }
}

/** Resources of a container: standard ones, or those of an extension as `example.com/gpu`. */
const isResource = (name: string): boolean =>
  ["cpu", "memory", "ephemeral-storage"].includes(name) ||
  name.startsWith("hugepages-") ||
  (name.includes("/") && qualifiedNameRule(name) === undefined);
const resourceDetail = "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain in front";

/**
 * Amounts are quantities (`500m`, `1Gi`, or a number) of at least 0, and no request is above its limit. An amount that is no
 * quantity has been refused by its type.
 */
function checkResources(container: JsonObject, at: FieldPath, report: Report) {
  const here = [...at, "resources"];
  for (const kind of ["limits", "requests"]) {
    for (const [name, amount] of Object.entries(objectAt(container, "resources", kind) ?? {})) {
      if (!isResource(name)) report(fieldError.invalid([...here, kind], name, resourceDetail));
      const quantity = parseQuantity(scalarText(amount));
      if (quantity.ok && quantity.value.nano < 0n)
        report(fieldError.invalid([...here, kind, name], amount, "must be greater than or equal to 0"));
    }
  }
  const limits = objectAt(container, "resources", "limits") ?? {};
  for (const [name, amount] of Object.entries(objectAt(container, "resources", "requests") ?? {})) {
    const limit = Object.hasOwn(limits, name) ? parseQuantity(scalarText(limits[name])) : undefined;
    const request = parseQuantity(scalarText(amount));
    if (limit?.ok === true && request.ok && compareQuantities(request.value, limit.value) > 0) {
      report(
        fieldError.invalid([...here, "requests", name], amount, `must be less than or equal to the ${name} limit`),
      );
    }
  }
}

/** The largest id of a user or group that every Linux has. */
const mostIds = 2_147_483_647;

/** Ids in range, and no process that is privileged and may not become so. */
function checkSecurity(container: JsonObject, at: FieldPath, report: Report) {
  const context = objectAt(container, "securityContext");
  if (context === undefined) return;
  const here = [...at, "securityContext"];
  checkIds(context, ["runAsUser", "runAsGroup"], here, report);
  if (context["privileged"] === true && context["allowPrivilegeEscalation"] === false) {
    const detail = "cannot be false when privileged is true";
    report(fieldError.invalid([...here, "allowPrivilegeEscalation"], false, detail));
  }
}

/** Ids of users and groups among the members of a security context, of a container or a Pod. */
export function checkIds(context: JsonObject, names: readonly string[], at: FieldPath, report: Report): void {
  for (const name of names) {
    const id = numberAt(context, name);
    if (id !== undefined && (id < 0 || id > mostIds))
      report(fieldError.invalid([...at, name], id, `must be between 0 and ${mostIds}`));
  }
}
