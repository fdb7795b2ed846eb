import type { ResourceType } from "./resource-type.ts";

// How the built-in kinds that Slipway itself works with are addressed, on the embedded server and on any cluster alike. Constants
// instead of discovery: these have been the same in every Kubernetes since 1.19, and a command need not ask before it starts. Other
// kinds are found by `ApiClient.resourceType`. Their schemas live with the API server.

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
/** A name and an address for Pods with certain labels. */
export const Service = {
  ...core,
  kind: "Service",
  plural: "services",
  shortNames: ["svc"],
  categories: ["all"],
} as const satisfies ResourceType;
/** A machine. The embedded server has one, itself. */
export const Node = {
  ...core,
  kind: "Node",
  plural: "nodes",
  namespaced: false,
  shortNames: ["no"],
} as const satisfies ResourceType;
export const Endpoints = {
  ...core,
  kind: "Endpoints",
  plural: "endpoints",
  shortNames: ["ep"],
} as const satisfies ResourceType;
export const PersistentVolume = {
  ...core,
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
  shortNames: ["pv"],
} as const satisfies ResourceType;
export const ReplicationController = {
  ...core,
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
} as const satisfies ResourceType;
export const PersistentVolumeClaim = {
  ...core,
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
} as const satisfies ResourceType;
/** Limits how many objects of a kind a namespace may hold. */
export const ResourceQuota = {
  ...core,
  kind: "ResourceQuota",
  plural: "resourcequotas",
  shortNames: ["quota"],
} as const satisfies ResourceType;
/** Events as kubectl reads and `kubectl describe` selects them. The same objects as `Event`, in the older form. */
export const CoreEvent = {
  ...core,
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
} as const satisfies ResourceType;
/** Events as controllers write them: with a series instead of a count, and times in microseconds. */
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
/** Makes Jobs by the calendar. */
export const CronJob = {
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  namespaced: true,
  shortNames: ["cj"],
  categories: ["all"],
} as const satisfies ResourceType;
/** Keeps a number of Pods of one template alive. People use Deployments, which own ReplicaSets, one per template. */
export const ReplicaSet = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
  shortNames: ["rs"],
  categories: ["all"],
} as const satisfies ResourceType;
export const Deployment = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
  shortNames: ["deploy"],
  categories: ["all"],
} as const satisfies ResourceType;
/** Pods with names and volumes of their own. */
export const StatefulSet = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
  shortNames: ["sts"],
  categories: ["all"],
} as const satisfies ResourceType;
/** A former or the present template of a StatefulSet. */
export const ControllerRevision = {
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
} as const satisfies ResourceType;
// Kinds that are stored for their readers; no controller here acts on them.
export const PodTemplate = { ...core, kind: "PodTemplate", plural: "podtemplates" } as const satisfies ResourceType;
export const PriorityClass = {
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  namespaced: false,
  shortNames: ["pc"],
} as const satisfies ResourceType;
export const StorageClass = {
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
  shortNames: ["sc"],
} as const satisfies ResourceType;
export const CertificateSigningRequest = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
  shortNames: ["csr"],
} as const satisfies ResourceType;
export const DaemonSet = {
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  namespaced: true,
  shortNames: ["ds"],
  categories: ["all"],
} as const satisfies ResourceType;
export const NetworkPolicy = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
  shortNames: ["netpol"],
} as const satisfies ResourceType;
export const LimitRange = {
  ...core,
  kind: "LimitRange",
  plural: "limitranges",
  shortNames: ["limits"],
} as const satisfies ResourceType;
export const HorizontalPodAutoscaler = {
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
  shortNames: ["hpa"],
  categories: ["all"],
} as const satisfies ResourceType;
export const PodDisruptionBudget = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
  shortNames: ["pdb"],
} as const satisfies ResourceType;
export const Ingress = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  namespaced: true,
  shortNames: ["ing"],
} as const satisfies ResourceType;
export const Lease = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
} as const satisfies ResourceType;
/** Declares other kinds; the embedded server serves them in the turn in which it is stored. */
export const CustomResourceDefinition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  shortNames: ["crd", "crds"],
} as const satisfies ResourceType;
