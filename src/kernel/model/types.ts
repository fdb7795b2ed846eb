import { type ResourceType, splitApiVersion } from "./resource-type.ts";

// Built-in kinds that Slipway works with. Constants instead of discovery: they are the same in every Kubernetes since
// 1.19. Other kinds are found by `ApiClient.resourceType`.

type Names = Partial<Pick<ResourceType, "namespaced" | "shortNames" | "categories">>;

const builtIn = (apiVersion: string, kind: string, plural: string, names: Names = {}): ResourceType => ({
  ...splitApiVersion(apiVersion),
  kind,
  plural,
  namespaced: true,
  ...names,
});

export const Namespace = builtIn("v1", "Namespace", "namespaces", { namespaced: false, shortNames: ["ns"] });
export const ConfigMap = builtIn("v1", "ConfigMap", "configmaps", { shortNames: ["cm"] });
export const Secret = builtIn("v1", "Secret", "secrets");
export const ServiceAccount = builtIn("v1", "ServiceAccount", "serviceaccounts", { shortNames: ["sa"] });
export const Pod = builtIn("v1", "Pod", "pods", { shortNames: ["po"], categories: ["all"] });
export const Service = builtIn("v1", "Service", "services", { shortNames: ["svc"], categories: ["all"] });
export const Node = builtIn("v1", "Node", "nodes", { namespaced: false, shortNames: ["no"] });
export const Endpoints = builtIn("v1", "Endpoints", "endpoints", { shortNames: ["ep"] });
export const PersistentVolume = builtIn("v1", "PersistentVolume", "persistentvolumes", {
  namespaced: false,
  shortNames: ["pv"],
});
export const ReplicationController = builtIn("v1", "ReplicationController", "replicationcontrollers", {
  shortNames: ["rc"],
  categories: ["all"],
});
export const PersistentVolumeClaim = builtIn("v1", "PersistentVolumeClaim", "persistentvolumeclaims", {
  shortNames: ["pvc"],
});
export const ResourceQuota = builtIn("v1", "ResourceQuota", "resourcequotas", { shortNames: ["quota"] });
/** Events as kubectl reads them: the same objects as `Event`, in the older form. */
export const CoreEvent = builtIn("v1", "Event", "events", { shortNames: ["ev"] });
/** Events as controllers write them: with a series instead of a count, and times in microseconds. */
export const Event = builtIn("events.k8s.io/v1", "Event", "events", { shortNames: ["ev"] });
export const Job = builtIn("batch/v1", "Job", "jobs", { categories: ["all"] });
export const CronJob = builtIn("batch/v1", "CronJob", "cronjobs", { shortNames: ["cj"], categories: ["all"] });
export const ReplicaSet = builtIn("apps/v1", "ReplicaSet", "replicasets", { shortNames: ["rs"], categories: ["all"] });
export const Deployment = builtIn("apps/v1", "Deployment", "deployments", {
  shortNames: ["deploy"],
  categories: ["all"],
});
export const StatefulSet = builtIn("apps/v1", "StatefulSet", "statefulsets", {
  shortNames: ["sts"],
  categories: ["all"],
});
export const ControllerRevision = builtIn("apps/v1", "ControllerRevision", "controllerrevisions");
// Kinds that are only stored.
export const PodTemplate = builtIn("v1", "PodTemplate", "podtemplates");
export const PriorityClass = builtIn("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", {
  namespaced: false,
  shortNames: ["pc"],
});
export const StorageClass = builtIn("storage.k8s.io/v1", "StorageClass", "storageclasses", {
  namespaced: false,
  shortNames: ["sc"],
});
export const CertificateSigningRequest = builtIn(
  "certificates.k8s.io/v1",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  { namespaced: false, shortNames: ["csr"] },
);
export const DaemonSet = builtIn("apps/v1", "DaemonSet", "daemonsets", { shortNames: ["ds"], categories: ["all"] });
export const NetworkPolicy = builtIn("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", {
  shortNames: ["netpol"],
});
export const LimitRange = builtIn("v1", "LimitRange", "limitranges", { shortNames: ["limits"] });
export const HorizontalPodAutoscaler = builtIn(
  "autoscaling/v2",
  "HorizontalPodAutoscaler",
  "horizontalpodautoscalers",
  { shortNames: ["hpa"], categories: ["all"] },
);
export const PodDisruptionBudget = builtIn("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", {
  shortNames: ["pdb"],
});
export const Ingress = builtIn("networking.k8s.io/v1", "Ingress", "ingresses", { shortNames: ["ing"] });
export const Lease = builtIn("coordination.k8s.io/v1", "Lease", "leases");
export const CustomResourceDefinition = builtIn(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  { namespaced: false, shortNames: ["crd", "crds"] },
);
