import { type JsonObject, type JsonValue, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { mapItems, mapMember, scalarText, withAbsent, withMembers, withUnset } from "./read.ts";

// Kubernetes' core/v1 defaults of Pods and Pod templates. All functions are pure and idempotent and return the same
// object if nothing is missing. Client-side apply compares by these values, so another default shows as a change.

/** A PodSpec with its defaults, nested ones included. Admission adds the service account. */
export function withPodSpecDefaults(spec: JsonObject): JsonObject {
  const accounted = withAccount(withAbsent(withUnset(spec, podWords), podDefaults));
  const contained = ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, withContainerDefaults),
    accounted,
  );
  return mapItems(contained, "volumes", withVolumeDefaults);
}

/** Scheduler and DNS policy have no effect on one machine. */
const podWords: JsonObject = {
  restartPolicy: "Always",
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
};

const podDefaults: JsonObject = { terminationGracePeriodSeconds: 30, securityContext: {} };

/** The account's old and new name have the same value; the new one wins. */
function withAccount(spec: JsonObject): JsonObject {
  const name = textAt(spec, "serviceAccountName") ?? textAt(spec, "serviceAccount");
  return name === undefined ? spec : withMembers(spec, { serviceAccountName: name, serviceAccount: name });
}

const containerWords: JsonObject = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
};

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

/** An image without a tag, or tagged `latest`, may change. A digest never does. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  if (image.includes("@")) return "IfNotPresent";
  const last = image.slice(image.lastIndexOf("/") + 1);
  const tag = last.includes(":") ? last.slice(last.indexOf(":") + 1) : "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** For Pods, not templates: a resource with a limit and no request gets the limit as its request. */
export const withRequestsOfLimits = (spec: JsonObject): JsonObject =>
  ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, (container) => mapMember(container, "resources", withRequests)),
    spec,
  );

/** For Pods, not templates: on the host's network, container ports are host ports. */
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

function withProbeDefaults(probe: JsonObject): JsonObject {
  const filled = withUnset(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  return mapMember(withHttpDefaults(filled), "grpc", (grpc) => withAbsent(grpc, { service: "" }));
}

const withHttpDefaults = (handler: JsonObject): JsonObject =>
  mapMember(handler, "httpGet", (get) => withUnset(get, { path: "/", scheme: "HTTP" }));

/** Mode of projected files: 420 in JSON. */
const defaultMode = 0o644;
const sourceDefaults: Readonly<Record<string, JsonObject>> = {
  configMap: { defaultMode },
  secret: { defaultMode },
  downwardAPI: { defaultMode },
  projected: { defaultMode },
  hostPath: { type: "" },
};

/** A volume without a source is an empty directory. */
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

/** Resources that decide about the class. */
const classResources = ["cpu", "memory"];

/**
 * Kubernetes' class for eviction, which Slipway only reports: Guaranteed if every container has limits for cpu and
 * memory and their requests are equal, BestEffort if there are none, else Burstable. Amounts compare by value (`1` is
 * `1000m`); 0 is none.
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

/** In billionths; invalid quantities, which rules report, count as 0. */
function amountOf(value: JsonValue | undefined): bigint {
  const quantity = parseQuantity(scalarText(value));
  return quantity.ok ? quantity.value.nano : 0n;
}
