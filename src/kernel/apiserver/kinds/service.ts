import {
  type FieldPath,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { labelRule, Service, subdomainRule } from "#kernel/model/index.ts";
import {
  checkLabelMap,
  checkOneOf,
  definitionNames,
  isAddress,
  mapItems,
  mapMember,
  type Report,
  scalarText,
  withAbsent,
  withMembers,
  withUnset,
} from "#kernel/specs/index.ts";
import { serviceTable } from "../tables/service.ts";
import { allotAddresses, isNone, needsAddress, needsNodePorts } from "./service-addresses.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";

// Services as stored: Kubernetes' defaults and validation of core/v1, for IPv4. The Pod runtime makes them reachable.

const at: FieldPath = ["spec"];

const withServiceDefaults = (service: JsonObject): JsonObject =>
  mapMember(service, "spec", (given) => {
    // Empty means any.
    const free = given["clusterIP"] === "" ? withMembers(given, { clusterIP: undefined }) : given;
    const spec = withUnset(free, { type: "ClusterIP", sessionAffinity: "None" });
    const type = textAt(spec, "type");
    const filled = mapItems(spec, "ports", (port) => {
      const named = port["targetPort"] === "" ? withMembers(port, { targetPort: undefined }) : port;
      return withUnset(named, { protocol: "TCP", targetPort: port["port"] });
    });
    return withAbsent(filled, {
      ...(type === "ExternalName" ? {} : { internalTrafficPolicy: "Cluster" }),
      ...(needsNodePorts(spec) ? { externalTrafficPolicy: "Cluster" } : {}),
      ...(type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: true } : {}),
      ...(textAt(spec, "sessionAffinity") === "ClientIP"
        ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } }
        : {}),
    });
  });

/** An update without the address keeps it, as in Kubernetes. */
function keepAddresses(service: JsonObject, old: JsonObject): JsonObject {
  const [spec, before] = [objectAt(service, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  if (!needsAddress(spec)) return withoutAddress(service, spec, before);
  if (!needsAddress(before)) return service;
  const kept = withAbsent(spec, {
    ...present(before, "clusterIP"),
    ...(jsonEquals(spec["clusterIP"] ?? before["clusterIP"], before["clusterIP"]) ? present(before, "clusterIPs") : {}),
    ...present(before, "ipFamilies"),
    ...present(before, "ipFamilyPolicy"),
  });
  return withMembers(service, {
    spec: needsNodePorts(before) && needsNodePorts(kept) ? keepPorts(kept, before) : kept,
  });
}

/** Switching to ExternalName gives the address back. */
function withoutAddress(service: JsonObject, spec: JsonObject, before: JsonObject): JsonObject {
  if (!needsAddress(before) || !jsonEquals(spec["clusterIP"], before["clusterIP"])) return service;
  const { clusterIP: _ip, clusterIPs: _ips, ipFamilies: _families, ipFamilyPolicy: _policy, ...rest } = spec;
  return withMembers(service, { spec: rest });
}

function keepPorts(spec: JsonObject, before: JsonObject): JsonObject {
  const known = new Map(objectsAt(before, "ports").map((port) => [portKey(port), valueAt(port, "nodePort")]));
  return mapItems(spec, "ports", (port) => {
    const nodePort = known.get(portKey(port));
    return nodePort === undefined ? port : withAbsent(port, { nodePort });
  });
}

/** `80/TCP`: identifies a port of a Service, as in server-side apply. */
const portKey = (port: JsonObject): string => `${numberAt(port, "port")}/${textAt(port, "protocol")}`;

const present = (object: JsonObject, name: string): JsonObject =>
  object[name] === undefined ? {} : { [name]: object[name] };

const serviceName = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;

/** RFC 1035, not 1123: some resolvers take a name that begins with a digit for an address. */
const nameRule: Rule = (service, { errors }) => {
  const name = textAt(service, "metadata", "name") ?? "";
  if (!serviceName.test(name) || name.length > 63)
    errors.push(
      fieldError.invalid(
        "metadata.name",
        name,
        "a DNS-1035 label must consist of lower case letters, digits or '-', start with a letter, end with a letter or digit, and be no more than 63 characters",
      ),
    );
};

const specRule: Rule = (service, { errors }) => {
  const spec = objectAt(service, "spec") ?? {};
  const report: Report = (error) => void errors.push(error);
  checkOneOf(spec, "type", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], at, report);
  checkOneOf(spec, "sessionAffinity", ["ClientIP", "None"], at, report);
  checkOneOf(spec, "internalTrafficPolicy", ["Cluster", "Local"], at, report);
  checkOneOf(spec, "externalTrafficPolicy", ["Cluster", "Local"], at, report);
  checkOneOf(spec, "ipFamilyPolicy", ["SingleStack", "PreferDualStack"], at, report);
  const families = valueAt(spec, "ipFamilies");
  if (families !== undefined && !jsonEquals(families, ["IPv4"]))
    report(
      fieldError.invalid([...at, "ipFamilies"], families, "may hold only IPv4: this server has one address family"),
    );
  if (textAt(spec, "type") === "ExternalName") checkExternalName(spec, report);
  else if (objectsAt(spec, "ports").length === 0 && !isNone(spec)) report(fieldError.required([...at, "ports"]));
  checkPorts(spec, report);
  checkLabelMap(objectAt(spec, "selector"), [...at, "selector"], report);
  for (const [index, address] of listAt(spec, "externalIPs").entries()) {
    if (!isAddress(scalarText(address)))
      report(fieldError.invalid([...at, "externalIPs", index], address, "must be a valid IP address"));
  }
};

/** Resolved by DNS, so it has no address. A trailing dot is allowed. */
function checkExternalName(spec: JsonObject, report: Report): void {
  if (valueAt(spec, "clusterIP") !== undefined && valueAt(spec, "clusterIP") !== "")
    report(fieldError.forbidden([...at, "clusterIP"], "may not be set for ExternalName services"));
  const name = textAt(spec, "externalName") ?? "";
  if (name === "") return report(fieldError.required([...at, "externalName"]));
  const problem = subdomainRule(name.replace(/\.$/, ""));
  if (problem !== undefined) report(fieldError.invalid([...at, "externalName"], name, problem));
}

/** Several ports need names. */
function checkPorts(spec: JsonObject, report: Report): void {
  const ports = objectsAt(spec, "ports");
  const [names, numbers] = [new Set<string>(), new Set<string>()];
  for (const [index, port] of ports.entries()) {
    const here = [...at, "ports", index];
    const name = textAt(port, "name") ?? "";
    if (name === "" && ports.length > 1) report(fieldError.required([...here, "name"]));
    if (name !== "") checkPortName(name, names, [...here, "name"], report);
    checkPortNumber(port["port"], [...here, "port"], report);
    checkOneOf(port, "protocol", ["SCTP", "TCP", "UDP"], here, report);
    checkTarget(port["targetPort"], [...here, "targetPort"], report);
    if ((numberAt(port, "nodePort") ?? 0) !== 0 && !needsNodePorts(spec))
      report(fieldError.forbidden([...here, "nodePort"], "may not be used when `type` is 'ClusterIP'"));
    const key = portKey(port);
    if (numbers.has(key)) report(fieldError.duplicate(here, { port: port["port"], protocol: port["protocol"] }));
    numbers.add(key);
  }
}

/** Nothing maps ports on the way to the Pods, so a different number has no effect; a warning says so. */
const unmappedRule: Rule = (service, { warnings }) => {
  const spec = objectAt(service, "spec") ?? {};
  if (isNone(spec) || textAt(spec, "type") === "ExternalName" || objectAt(spec, "selector") === undefined) return;
  for (const [index, { port, targetPort }] of objectsAt(spec, "ports").entries()) {
    if (targetPort === undefined || targetPort === port) continue;
    const wanted =
      typeof targetPort === "number" ? `ask for ${targetPort}` : `ask for what Pods call ${JSON.stringify(targetPort)}`;
    warnings.push(`spec.ports[${index}]: port ${scalarText(port)} is not mapped on this server; ${wanted}`);
  }
};

/** Port names become parts of DNS names (SRV records). */
function checkPortName(name: string, names: Set<string>, here: FieldPath, report: Report): void {
  const problem = labelRule(name);
  if (problem !== undefined) report(fieldError.invalid(here, name, problem));
  if (names.has(name)) report(fieldError.duplicate(here, name));
  names.add(name);
}

function checkPortNumber(port: JsonValue | undefined, here: FieldPath, report: Report): void {
  if (typeof port !== "number" || port < 1 || port > 65_535)
    report(fieldError.invalid(here, port ?? 0, "must be between 1 and 65535, inclusive"));
}

/** A number or a port name (RFC 6335: at most 15 characters, at least one letter). */
function checkTarget(target: JsonValue | undefined, here: FieldPath, report: Report): void {
  if (typeof target !== "string") return checkPortNumber(target, here, report);
  if (target.length > 15 || !/^(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*$/.test(target))
    report(
      fieldError.invalid(here, target, "must be the name of a port: at most 15 lower case letters, digits and '-'"),
    );
}

/** Only a change of the type changes the address. */
const addressIsImmutable: Rule = (service, { errors }, old) => {
  const [after, before] = [objectAt(service, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  if (!needsAddress(after) || !needsAddress(before)) return;
  if (!jsonEquals(after["clusterIP"], before["clusterIP"]))
    errors.push(fieldError.invalid("spec.clusterIPs[0]", after["clusterIP"], "may not change once set"));
};

export const serviceKind: BuiltIn = {
  type: Service,
  definition: definitionNames.service,
  table: serviceTable,
  subresources: ["status"],
  defaults: withServiceDefaults,
  prepareForCreate: (service) => ({ ...service, status: { loadBalancer: {} } }),
  prepareForUpdate: keepAddresses,
  rules: [nameRule, specRule, unmappedRule],
  updateRules: [addressIsImmutable],
  allot: allotAddresses,
  fields: { "spec.clusterIP": textField("spec", "clusterIP"), "spec.type": textField("spec", "type") },
};
