import type { ResourceType } from "./resource-type.ts";

// How the built-in kinds that Slipway itself works with are addressed. Their schemas live with the API server.

const core = { group: "", version: "v1", namespaced: true } as const;

export const Namespace = {
  ...core,
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
  shortNames: ["ns"],
} as const satisfies ResourceType;
export const ConfigMap = {
  ...core,
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
} as const satisfies ResourceType;
export const Secret = { ...core, kind: "Secret", plural: "secrets" } as const satisfies ResourceType;
export const ServiceAccount = {
  ...core,
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  shortNames: ["sa"],
} as const satisfies ResourceType;
export const Pod = {
  ...core,
  kind: "Pod",
  plural: "pods",
  shortNames: ["po"],
  categories: ["all"],
} as const satisfies ResourceType;
export const CoreEvent = {
  ...core,
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
} as const satisfies ResourceType;
export const Event = {
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
  shortNames: ["ev"],
} as const satisfies ResourceType;
export const Job = {
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  namespaced: true,
  categories: ["all"],
} as const satisfies ResourceType;
export const Lease = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
} as const satisfies ResourceType;
export const CustomResourceDefinition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  shortNames: ["crd", "crds"],
} as const satisfies ResourceType;
