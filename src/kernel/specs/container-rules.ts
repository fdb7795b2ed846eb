import {
  type FieldPath,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
  type JsonValue,
  listAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { compareQuantities, parseQuantity } from "#lib/text/index.ts";
import { labelRule, qualifiedNameRule } from "#kernel/model/index.ts";
import { checkEnvironment } from "./environment-rules.ts";
import { checkNamed, checkOneOf, type Report, checkNotNegative, checkUnion } from "./findings.ts";
import { scalarText } from "./read.ts";

// Kubernetes' core/v1 validation of one container, run after defaults and type checks. An absent value is only reported
// if it is required. Every function reports all errors under `at`.

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const protocols = ["TCP", "UDP", "SCTP"];
/** Checks a container. Mounts must name one of `volumes`; the caller checks that names of containers differ. */
export function checkContainer(container: JsonObject, at: FieldPath, volumes: ReadonlySet<string>, report: Report) {
  checkNamed(container, "name", labelRule, at, report);
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

/** `hostPort` is optional, `containerPort` required. Names of ports must differ; numbers need not. */
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

/** `subPath` must stay inside the volume. */
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

/** Standard resources, or an extension's as `example.com/gpu`. */
const isResource = (name: string): boolean =>
  ["cpu", "memory", "ephemeral-storage"].includes(name) ||
  name.startsWith("hugepages-") ||
  (name.includes("/") && qualifiedNameRule(name) === undefined);
const resourceDetail = "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain in front";

/** Amounts are quantities (`500m`, `1Gi`, or a number) of at least 0; no request exceeds its limit. */
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

/** The largest user or group id on every Linux. */
const mostIds = 2_147_483_647;

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

/** Checks user and group ids in a security context. */
export function checkIds(context: JsonObject, names: readonly string[], at: FieldPath, report: Report): void {
  for (const name of names) {
    const id = numberAt(context, name);
    if (id !== undefined && (id < 0 || id > mostIds))
      report(fieldError.invalid([...at, name], id, `must be between 0 and ${mostIds}`));
  }
}

// Probes and lifecycle hooks.

const probeNumbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

/** One handler and sensible times. Only readiness may need several successes. */
function checkProbe(container: JsonObject, name: string, at: FieldPath, report: Report) {
  const probe = objectAt(container, name);
  if (probe === undefined) return;
  const here = [...at, name];
  checkUnion(probe, ["exec", "httpGet", "tcpSocket", "grpc"], here, report);
  checkNotNegative(probe, probeNumbers, here, report);
  checkHandler(probe, here, report);
  checkGrace(probe, name, here, report);
  if (name !== "readinessProbe" && (numberAt(probe, "successThreshold") ?? 1) !== 1) {
    report(fieldError.invalid([...here, "successThreshold"], probe["successThreshold"], "must be 1"));
  }
}

/** The grace belongs to the termination that a probe causes; readiness causes none. */
function checkGrace(probe: JsonObject, name: string, at: FieldPath, report: Report): void {
  const grace = numberAt(probe, "terminationGracePeriodSeconds");
  if (grace === undefined) return;
  const here = [...at, "terminationGracePeriodSeconds"];
  if (name === "readinessProbe") report(fieldError.invalid(here, grace, "must not be set for readinessProbes"));
  else if (grace <= 0) report(fieldError.invalid(here, grace, "must be greater than 0"));
}

function checkLifecycle(container: JsonObject, at: FieldPath, report: Report): void {
  for (const hook of ["postStart", "preStop"]) {
    const handler = objectAt(container, "lifecycle", hook);
    if (handler === undefined) continue;
    const here = [...at, "lifecycle", hook];
    checkUnion(handler, ["exec", "httpGet", "tcpSocket", "sleep"], here, report);
    checkHandler(handler, here, report);
    checkNotNegative(objectAt(handler, "sleep") ?? {}, ["seconds"], [...here, "sleep"], report);
  }
}

/** Required fields of each kind of handler; the caller checks that there is exactly one. */
function checkHandler(handler: JsonObject, at: FieldPath, report: Report) {
  if (objectAt(handler, "exec") !== undefined && listAt(handler, "exec", "command").length === 0)
    report(fieldError.required([...at, "exec", "command"]));
  const http = objectAt(handler, "httpGet");
  if (http !== undefined) {
    checkPort(http["port"], [...at, "httpGet", "port"], report);
    checkOneOf(http, "scheme", ["HTTP", "HTTPS"], [...at, "httpGet"], report);
    if (textAt(http, "path") === undefined) report(fieldError.required([...at, "httpGet", "path"]));
  }
  const tcp = objectAt(handler, "tcpSocket");
  if (tcp !== undefined) checkPort(tcp["port"], [...at, "tcpSocket", "port"], report);
  const grpc = objectAt(handler, "grpc");
  if (grpc !== undefined) checkPort(numberAt(grpc, "port") ?? 0, [...at, "grpc", "port"], report);
}

/** A port by number or by the name of a container port. Digits alone are not a valid name. */
function checkPort(port: JsonValue | undefined, at: FieldPath, report: Report) {
  if (port === undefined) return report(fieldError.required(at));
  const problem = typeof port === "string" ? portNameProblem(port) : isPort(port) ? undefined : portDetail;
  if (problem !== undefined) report(fieldError.invalid(at, port, problem));
}

/** Ports of TCP, UDP and SCTP; 0 means "not given". */
const isPort = (value: unknown): boolean => typeof value === "number" && value >= 1 && value <= 65_535;
const portDetail = "must be between 1 and 65535";

/** What is wrong with the name of a port (RFC 6335, 5.1). */
function portNameProblem(name: string): string | undefined {
  if (name.length > 15) return "must be no more than 15 characters";
  if (!/^[-a-z0-9]+$/.test(name)) return 'must consist of lower case letters, digits and "-"';
  if (!/[a-z]/.test(name)) return "must contain at least one letter";
  if (name.startsWith("-") || name.endsWith("-") || name.includes("--"))
    return 'must not begin or end with "-" or contain two of them in a row';
  return undefined;
}
