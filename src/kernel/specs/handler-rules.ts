import {
  type FieldPath,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  textAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { checkNotNegative, checkOneOf, checkUnion, type Report } from "./findings.ts";

// Probes and lifecycle hooks.

const probeNumbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

/** One handler and sensible times. Only readiness may need several successes. */
export function checkProbe(container: JsonObject, name: string, at: FieldPath, report: Report) {
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

export function checkLifecycle(container: JsonObject, at: FieldPath, report: Report): void {
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
export const isPort = (value: unknown): boolean => typeof value === "number" && value >= 1 && value <= 65_535;
export const portDetail = "must be between 1 and 65535";

/** What is wrong with the name of a port (RFC 6335, 5.1). */
export function portNameProblem(name: string): string | undefined {
  if (name.length > 15) return "must be no more than 15 characters";
  if (!/^[-a-z0-9]+$/.test(name)) return 'must consist of lower case letters, digits and "-"';
  if (!/[a-z]/.test(name)) return "must contain at least one letter";
  if (name.startsWith("-") || name.endsWith("-") || name.includes("--"))
    return 'must not begin or end with "-" or contain two of them in a row';
  return undefined;
}
