import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { listAt, mapItems, mapMember, objectAt, textAt, valueAt, withAbsent, withMembers } from "./read.ts";

// What Kubernetes fills into pods and pod templates, and every client therefore sees.

export function withPodSpecDefaults(spec: JsonObject): JsonObject {
  const accounted = withAccount(withAbsent(spec, podDefaults));
  const contained = ["containers", "initContainers"].reduce(
    (pod, member) => mapItems(pod, member, withContainerDefaults),
    accounted,
  );
  return mapItems(contained, "volumes", withVolumeDefaults);
}

const podDefaults: JsonObject = {
  restartPolicy: "Always",
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
  terminationGracePeriodSeconds: 30,
  securityContext: {},
};

/** The account's old name and its new one follow each other. */
function withAccount(spec: JsonObject): JsonObject {
  const name = textAt(spec, "serviceAccountName") ?? textAt(spec, "serviceAccount");
  return name === undefined ? spec : withMembers(spec, { serviceAccountName: name, serviceAccount: name });
}

const containerDefaults: JsonObject = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  resources: {},
};

function withContainerDefaults(container: JsonObject): JsonObject {
  const filled = withAbsent(container, {
    ...containerDefaults,
    imagePullPolicy: pullPolicyOf(textAt(container, "image") ?? ""),
  });
  const ported = mapItems(filled, "ports", (port) => withAbsent(port, { protocol: "TCP" }));
  const limited = mapMember(ported, "resources", withRequests);
  const probed = ["livenessProbe", "readinessProbe", "startupProbe"].reduce(
    (value, probe) => mapMember(value, probe, withProbeDefaults),
    limited,
  );
  return mapItems(probed, "env", (variable) =>
    mapMember(variable, "valueFrom", (source) =>
      mapMember(source, "fieldRef", (ref) => withAbsent(ref, { apiVersion: "v1" })),
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

/** Who limits a resource without requesting it, requests the limit. */
function withRequests(resources: JsonObject): JsonObject {
  const limits = objectAt(resources, "limits");
  if (limits === undefined || Object.keys(limits).length === 0) return resources;
  const requests = withAbsent(objectAt(resources, "requests") ?? {}, limits);
  return requests === resources["requests"] ? resources : { ...resources, requests };
}

function withProbeDefaults(probe: JsonObject): JsonObject {
  const filled = withAbsent(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  const http = mapMember(filled, "httpGet", (get) => withAbsent(get, { path: "/", scheme: "HTTP" }));
  return mapMember(http, "grpc", (grpc) => withAbsent(grpc, { service: "" }));
}

const defaultMode = 0o644;
const sourceDefaults: Readonly<Record<string, JsonObject>> = {
  configMap: { defaultMode },
  secret: { defaultMode },
  downwardAPI: { defaultMode },
  projected: { defaultMode },
  hostPath: { type: "" },
};

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
  mapMember(item, "fieldRef", (ref) => withAbsent(ref, { apiVersion: "v1" }));

const withProjectionDefaults = (source: JsonObject): JsonObject =>
  mapMember(
    mapMember(source, "serviceAccountToken", (token) => withAbsent(token, { expirationSeconds: 3600 })),
    "downwardAPI",
    (downward) => mapItems(downward, "items", withFieldRef),
  );

/** Kubernetes' class for eviction, which Slipway computes and reports but never acts on. */
export function qosClassOf(spec: JsonObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...listAt(spec, "containers"), ...listAt(spec, "initContainers")];
  const amounts = (container: JsonValue, kind: string) =>
    ["cpu", "memory"].map((resource) => valueAt(container, "resources", kind, resource));
  const all = containers.flatMap((one) => [...amounts(one, "limits"), ...amounts(one, "requests")]);
  if (all.every((amount) => amount === undefined)) return "BestEffort";
  const guaranteed = containers.every((one) => {
    const limits = amounts(one, "limits");
    const requests = amounts(one, "requests");
    return limits.every((limit, index) => limit !== undefined && limit === requests[index]);
  });
  return guaranteed ? "Guaranteed" : "Burstable";
}
