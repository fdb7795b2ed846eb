import { type JsonObject, type JsonValue, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { mapItems, mapMember, scalarText, withAbsent, withMembers, withUnset } from "./read.ts";

// What Kubernetes fills into Pods and Pod templates (core/v1 defaults), and every client therefore sees. All functions are pure,
// leave what is there alone, and return the very object they were given when nothing is missing; filling in twice is filling in
// once. A client-side apply compares by these values, so a default that differs from Kubernetes' shows up as a change.

/** A PodSpec with its defaults, those of containers, probes, ports and volumes included. The service account is admission's. */
export function withPodSpecDefaults(spec: JsonObject): JsonObject {
  const accounted = withAccount(withAbsent(withUnset(spec, podWords), podDefaults));
  const contained = ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, withContainerDefaults),
    accounted,
  );
  return mapItems(contained, "volumes", withVolumeDefaults);
}

/** Only the names of scheduler and DNS policy have no meaning on one machine. */
const podWords: JsonObject = {
  restartPolicy: "Always",
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
};

/** 30 s of grace is Kubernetes' figure. */
const podDefaults: JsonObject = { terminationGracePeriodSeconds: 30, securityContext: {} };

/** The account's old name and its new one follow each other; where both are given, the new one counts. */
function withAccount(spec: JsonObject): JsonObject {
  const name = textAt(spec, "serviceAccountName") ?? textAt(spec, "serviceAccount");
  return name === undefined ? spec : withMembers(spec, { serviceAccountName: name, serviceAccount: name });
}

const containerWords: JsonObject = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
};

/** Ports, resources, probes and references inside the container get theirs too. */
function withContainerDefaults(container: JsonObject): JsonObject {
  const worded = withUnset(container, {
    ...containerWords,
    imagePullPolicy: pullPolicyOf(textAt(container, "image") ?? ""),
  });
  const filled = withAbsent(worded, { resources: {} });
  const ported = mapItems(filled, "ports", (port) => withUnset(port, { protocol: "TCP" }));
  const probed = ["livenessProbe", "readinessProbe", "startupProbe"].reduce(
    (value, probe) => mapMember(value, probe, withProbeDefaults),
    ported,
  );
  const hooked = mapMember(probed, "lifecycle", (lifecycle) =>
    ["postStart", "preStop"].reduce((value, hook) => mapMember(value, hook, withHttpDefaults), lifecycle),
  );
  return mapItems(hooked, "env", (variable) =>
    mapMember(variable, "valueFrom", (source) =>
      mapMember(source, "fieldRef", (ref) => withUnset(ref, { apiVersion: "v1" })),
    ),
  );
}

/** An image without a tag, or tagged `latest`, may change behind its name. A digest never does. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  if (image.includes("@")) return "IfNotPresent";
  const last = image.slice(image.lastIndexOf("/") + 1);
  const tag = last.includes(":") ? last.slice(last.indexOf(":") + 1) : "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/**
 * The spec of a Pod, and of no template, with the requests its limits stand for: who limits a resource without requesting it, requests the
 * limit. `limits: {cpu: 1}` -> `requests: {cpu: 1}` as well.
 */
export const withRequestsOfLimits = (spec: JsonObject): JsonObject =>
  ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, (container) => mapMember(container, "resources", withRequests)),
    spec,
  );

/**
 * The spec of a Pod, and of no template, whose containers use the machine's own network: their ports are the machine's, whether that was
 * said or not.
 */
export function withPortsOfHost(spec: JsonObject): JsonObject {
  if (spec["hostNetwork"] !== true) return spec;
  const isHosts = (port: JsonObject) => withUnset(port, { hostPort: port["containerPort"] });
  return ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, (container) => mapItems(container, "ports", isHosts)),
    spec,
  );
}

function withRequests(resources: JsonObject): JsonObject {
  const limits = objectAt(resources, "limits");
  if (limits === undefined || Object.keys(limits).length === 0) return resources;
  const requests = withAbsent(objectAt(resources, "requests") ?? {}, limits);
  return requests === resources["requests"] ? resources : { ...resources, requests };
}

/** A probe asks every 10 s, waits 1 s for the answer, and believes the first success and the third failure in a row. */
function withProbeDefaults(probe: JsonObject): JsonObject {
  const filled = withUnset(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  return mapMember(withHttpDefaults(filled), "grpc", (grpc) => withAbsent(grpc, { service: "" }));
}

/** Of whatever may ask by HTTP, a probe or a hook. */
const withHttpDefaults = (handler: JsonObject): JsonObject =>
  mapMember(handler, "httpGet", (get) => withUnset(get, { path: "/", scheme: "HTTP" }));

/** Mode of projected files; JSON shows it in decimal, as 420. */
const defaultMode = 0o644;
const sourceDefaults: Readonly<Record<string, JsonObject>> = {
  configMap: { defaultMode },
  secret: { defaultMode },
  downwardAPI: { defaultMode },
  projected: { defaultMode },
  hostPath: { type: "" },
};

/** A volume that names no source is an empty directory. */
function withVolumeDefaults(volume: JsonObject): JsonObject {
  const sources = Object.keys(volume).filter((name) => name !== "name" && valueAt(volume, name) !== undefined);
  if (sources.length === 0) return { ...volume, emptyDir: {} };
  const filled = sources.reduce((value, name) => {
    const presets = Object.hasOwn(sourceDefaults, name) ? sourceDefaults[name] : undefined;
    return presets === undefined ? value : mapMember(value, name, (source) => withAbsent(source, presets));
  }, volume);
  const withRefs = mapMember(filled, "downwardAPI", (source) => mapItems(source, "items", withFieldRef));
  return mapMember(withRefs, "projected", (projected) => mapItems(projected, "sources", withProjectionDefaults));
}

const withFieldRef = (item: JsonObject): JsonObject =>
  mapMember(item, "fieldRef", (ref) => withUnset(ref, { apiVersion: "v1" }));

/** A projected service account token lasts an hour. */
const withProjectionDefaults = (source: JsonObject): JsonObject =>
  mapMember(
    mapMember(source, "serviceAccountToken", (token) => withAbsent(token, { expirationSeconds: 3600 })),
    "downwardAPI",
    (downward) => mapItems(downward, "items", withFieldRef),
  );

/** Resources that decide about the class; others, such as storage, do not count. */
const classResources = ["cpu", "memory"];

/**
 * Kubernetes' class for eviction, which Slipway computes and reports but never acts on: Guaranteed when every container has limits
 * for cpu and memory and all together they request just those, BestEffort when none asks for anything, else Burstable. Amounts are
 * compared by their value (`1` is `1000m`), and 0 is no amount.
 */
export function qosClassOf(spec: JsonObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")];
  const amounts = (container: JsonObject, kind: string) =>
    classResources.map((resource) => amountOf(valueAt(container, "resources", kind, resource)));
  const sums = (kind: string) =>
    classResources.map((_, index) => containers.reduce((sum, one) => sum + (amounts(one, kind)[index] ?? 0n), 0n));
  const [requests, limits] = [sums("requests"), sums("limits")];
  if ([...requests, ...limits].every((amount) => amount === 0n)) return "BestEffort";
  const isLimited = containers.every((one) => amounts(one, "limits").every((amount) => amount > 0n));
  return isLimited && requests.every((amount, index) => amount === limits[index]) ? "Guaranteed" : "Burstable";
}

/** In billionths; what is no quantity has been refused by its rule and counts as none. */
function amountOf(value: JsonValue | undefined): bigint {
  const quantity = parseQuantity(scalarText(value));
  return quantity.ok ? quantity.value.nano : 0n;
}
