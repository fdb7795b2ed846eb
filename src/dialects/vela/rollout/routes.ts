import {
  defined,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  objectsAt,
  textAt,
} from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { asJson } from "#kernel/model/index.ts";
import { revisionLabel } from "./workloads.ts";

// Pure: what routes and Services look like while requests are shared between two revisions.

export const weightsAnnotation = "slipway.dev/weights";

/** `undefined` ends the sharing. */
export type NewWeight = number | undefined;

export const stableName = (service: string): string => `${service}-stable`;
export const canaryName = (service: string): string => `${service}-canary`;

/** A Service of one revision: no address of its own, and no ports of nodes. */
export function revisionService(service: KubeObject, name: string, revision: string): KubeObject {
  const { clusterIP: _a, clusterIPs: _b, nodePort: _c, ...spec } = objectAt(asJson(service), "spec") ?? {};
  const ports = objectsAt(spec, "ports").map(({ nodePort: _own, ...port }) => port);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, ...defined({ namespace: service.metadata.namespace }) },
    spec: { ...spec, type: "ClusterIP", ports, selector: { ...objectAt(spec, "selector"), [revisionLabel]: revision } },
  };
}

const isOf = (service: string, backend: JsonObject): boolean =>
  [service, stableName(service), canaryName(service)].includes(textAt(backend, "name") ?? "") &&
  (textAt(backend, "kind") ?? "Service") === "Service";

export const routesTo = (route: KubeObject, service: string): boolean =>
  objectsAt(asJson(route), "spec", "rules").some((rule) =>
    objectsAt(rule, "backendRefs").some((backend) => isOf(service, backend)),
  );

/** Rules of an HTTPRoute whose backends of the Service are shared, or one again. */
export function sharedRules(route: KubeObject, service: string, weight: NewWeight): readonly JsonValue[] {
  return objectsAt(asJson(route), "spec", "rules").map((rule) => {
    const backends = objectsAt(rule, "backendRefs");
    const first = backends.find((backend) => isOf(service, backend));
    if (first === undefined) return rule;
    const { weight: _weight, ...plain } = first;
    const one: JsonObject = { ...plain, name: service };
    const shared: readonly JsonObject[] =
      weight === undefined
        ? [one]
        : [
            { ...one, name: stableName(service), weight: 100 - weight },
            { ...one, name: canaryName(service), weight },
          ];
    const others = backends.filter((backend) => !isOf(service, backend));
    return { ...rule, backendRefs: [...shared, ...others] };
  });
}

export const isNginx = (ingress: KubeObject): boolean =>
  textAt(asJson(ingress), "spec", "ingressClassName") === "nginx" ||
  ingress.metadata.annotations?.["kubernetes.io/ingress.class"] === "nginx";

export const ingressTo = (ingress: KubeObject, service: string): boolean =>
  isNginx(ingress) &&
  ingress.metadata.annotations?.["nginx.ingress.kubernetes.io/canary"] !== "true" &&
  [service, stableName(service)].some((name) => JSON.stringify(ingress.spec).includes(`"service":{"name":"${name}"`));

/** The spec with every backend of `from` replaced. */
export function withBackend(value: JsonValue, from: readonly string[], to: string): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withBackend(item, from, to));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = key === "service" ? textAt(member, "name") : undefined;
      if (name !== undefined && from.includes(name) && isJsonObject(member)) return [key, { ...member, name: to }];
      return [key, withBackend(member ?? null, from, to)];
    }),
  );
}

/** The second Ingress, which takes the canary's share. */
export const canaryIngress = (ingress: KubeObject, service: string, weight: number): KubeObject => ({
  apiVersion: ingress.apiVersion,
  kind: ingress.kind,
  metadata: {
    name: canaryName(ingress.metadata.name ?? ""),
    ...defined({ namespace: ingress.metadata.namespace }),
    annotations: {
      "nginx.ingress.kubernetes.io/canary": "true",
      "nginx.ingress.kubernetes.io/canary-weight": String(weight),
    },
  },
  spec: withBackend(asJson(ingress)["spec"] ?? {}, [service, stableName(service)], canaryName(service)),
});

/** Weights by selectors of Pods, for the Service proxy; a workload without a revision label is everything else. */
export const weightsOf = (newRevision: string, weight: number): string =>
  JSON.stringify({ [`${revisionLabel}=${newRevision}`]: weight, [`${revisionLabel}!=${newRevision}`]: 100 - weight });
