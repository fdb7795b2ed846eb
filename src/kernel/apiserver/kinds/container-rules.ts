import type { FieldPath, JsonObject } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "#lib/schema/index.ts";
import { compareQuantities, parseQuantity } from "#lib/text/index.ts";
import { labelRule } from "../verbs/names.ts";
import { listAt, numberAt, objectAt, objectsAt, scalarText, textAt, valueAt } from "./read.ts";

/** Collects errors under a path. */
export type Report = (error: FieldError) => void;

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const protocols = ["TCP", "UDP", "SCTP"];
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

/** A text that must be one of a few; absent is somebody else's business. */
export function checkOneOf(
  object: JsonObject,
  name: string,
  allowed: readonly string[],
  at: FieldPath,
  report: Report,
) {
  const value = object[name];
  if (value !== undefined && !allowed.some((word) => word === value)) {
    report(fieldError.notSupported([...at, name], value, allowed));
  }
}

/** Exactly one of the members must be there. */
export function checkUnion(object: JsonObject, members: readonly string[], at: FieldPath, report: Report) {
  const present = members.filter((name) => valueAt(object, name) !== undefined);
  if (present.length === 0) report(fieldError.required(at, `must specify one of: ${members.join(", ")}`));
  for (const name of present.slice(1))
    report(fieldError.forbidden([...at, name], "may not specify more than 1 of them"));
}

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
  for (const hook of ["postStart", "preStop"]) {
    const handler = objectAt(container, "lifecycle", hook);
    if (handler !== undefined)
      checkUnion(handler, ["exec", "httpGet", "tcpSocket", "sleep"], [...at, "lifecycle", hook], report);
  }
}

const isPort = (value: unknown): boolean => typeof value === "number" && value >= 1 && value <= 65_535;
const portDetail = "must be between 1 and 65535";

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
    if (names.has(name)) report(fieldError.duplicate([...here, "name"], name));
    names.add(name);
  }
}

function checkEnvironment(container: JsonObject, at: FieldPath, report: Report) {
  for (const [index, variable] of objectsAt(container, "env").entries())
    checkVariable(variable, [...at, "env", index], report);
  for (const [index, source] of objectsAt(container, "envFrom").entries()) {
    const here = [...at, "envFrom", index];
    checkUnion(source, ["configMapRef", "secretRef"], here, report);
    for (const kind of ["configMapRef", "secretRef"]) {
      if (objectAt(source, kind) !== undefined && textAt(source, kind, "name") === undefined) {
        report(fieldError.required([...here, kind, "name"]));
      }
    }
  }
}

function checkVariable(variable: JsonObject, at: FieldPath, report: Report) {
  const name = textAt(variable, "name");
  if (name === undefined) report(fieldError.required([...at, "name"]));
  else if (!/^[ -<>-~]+$/.test(name))
    report(fieldError.invalid([...at, "name"], name, 'must consist of printable ASCII characters other than "="'));
  const source = objectAt(variable, "valueFrom");
  if (source === undefined) return;
  const from = [...at, "valueFrom"];
  if (textAt(variable, "value") !== undefined)
    report(fieldError.invalid(from, "", "may not be specified when `value` is not empty"));
  checkUnion(source, ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"], from, report);
  const path = valueAt(source, "fieldRef", "fieldPath");
  if (objectAt(source, "fieldRef") !== undefined) checkFieldPath(path, [...from, "fieldRef", "fieldPath"], report);
  for (const kind of ["configMapKeyRef", "secretKeyRef"]) {
    if (objectAt(source, kind) !== undefined && textAt(source, kind, "key") === undefined)
      report(fieldError.required([...from, kind, "key"]));
  }
}

/** A field of the pod that a variable or file may show. */
export function checkFieldPath(path: unknown, at: FieldPath, report: Report) {
  if (typeof path !== "string" || path === "") return report(fieldError.required(at));
  const isMapMember = /^metadata\.(?:labels|annotations)(?:\['[^']+'\])?$/.test(path);
  if (!isMapMember && !fieldPaths.includes(path)) report(fieldError.notSupported(at, path, fieldPaths));
}

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
  }
}

function checkResources(container: JsonObject, at: FieldPath, report: Report) {
  const here = [...at, "resources"];
  for (const kind of ["limits", "requests"]) {
    for (const [name, amount] of Object.entries(objectAt(container, "resources", kind) ?? {})) {
      const quantity = parseQuantity(scalarText(amount));
      if (!quantity.ok) report(fieldError.invalid([...here, kind, name], amount, quantity.error));
      else if (quantity.value.nano < 0n)
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

function checkProbe(container: JsonObject, name: string, at: FieldPath, report: Report) {
  const probe = objectAt(container, name);
  if (probe === undefined) return;
  const here = [...at, name];
  checkUnion(probe, ["exec", "httpGet", "tcpSocket", "grpc"], here, report);
  for (const field of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ]) {
    const value = numberAt(probe, field);
    if (value !== undefined && value < 0)
      report(fieldError.invalid([...here, field], value, "must be greater than or equal to 0"));
  }
  if (objectAt(probe, "exec") !== undefined && listAt(probe, "exec", "command").length === 0) {
    report(fieldError.required([...here, "exec", "command"]));
  }
  if (name !== "readinessProbe" && (numberAt(probe, "successThreshold") ?? 1) !== 1) {
    report(fieldError.invalid([...here, "successThreshold"], probe["successThreshold"], "must be 1"));
  }
}
