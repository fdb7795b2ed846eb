import { describe, expect, test } from "vitest";
import { builtInKinds } from "../kinds/built-in-kinds.ts";

// Scripts cut tables by these names, and kubectl's --sort-by and -o wide go by type and priority: they are those of the printers of
// Kubernetes 1.33. `*` shows with `-o wide` only; a type stands behind the names of columns that are not texts.

const columns: Readonly<Record<string, string>> = {
  ConfigMap: "Name Data Age",
  Endpoints: "Name Endpoints Age",
  Event: "LastSeen Type Reason Object Subobject* Source* Message FirstSeen* Count* Name*",
  LimitRange: "Name CreatedAt:date",
  Namespace: "Name Status Age",
  Node: "Name Status Roles Age Version Internal-IP* External-IP* OS-Image* Kernel-Version* Container-Runtime*",
  PersistentVolumeClaim: "Name Status Volume Capacity AccessModes StorageClass VolumeAttributesClass Age VolumeMode*",
  PersistentVolume:
    "Name Capacity AccessModes ReclaimPolicy Status Claim StorageClass VolumeAttributesClass Reason Age VolumeMode*",
  ReplicationController: "Name Desired:integer Current:integer Ready:integer Age Containers* Images* Selector*",
  Pod: "Name Ready Status Restarts Age IP* Node* NominatedNode* ReadinessGates*",
  ResourceQuota: "Name Request Limit Age",
  Secret: "Name Type Data Age",
  ServiceAccount: "Name Secrets Age",
  Service: "Name Type Cluster-IP External-IP Port(s) Age Selector*",
  DaemonSet:
    "Name Desired:integer Current:integer Ready:integer Up-to-date:integer Available:integer NodeSelector Age Containers* Images* Selector*",
  Deployment: "Name Ready Up-to-date Available Age Containers* Images* Selector*",
  ReplicaSet: "Name Desired:integer Current:integer Ready:integer Age Containers* Images* Selector*",
  StatefulSet: "Name Ready Age Containers* Images*",
  HorizontalPodAutoscaler: "Name Reference Targets MinPods MaxPods Replicas Age",
  CronJob: "Name Schedule Timezone Suspend:boolean Active:integer LastSchedule Age Containers* Images* Selector*",
  Job: "Name Status Completions Duration Age Containers* Images* Selector*",
  Lease: "Name Holder Age",
  Ingress: "Name Class Hosts Address Ports Age",
  NetworkPolicy: "Name Pod-Selector Age",
  PodDisruptionBudget: "Name MinAvailable MaxUnavailable AllowedDisruptions:integer Age",
  ClusterRoleBinding: "Name Role Age Users* Groups* ServiceAccounts*",
  ClusterRole: "Name CreatedAt:date",
  RoleBinding: "Name Role Age Users* Groups* ServiceAccounts*",
  Role: "Name CreatedAt:date",
  PriorityClass: "Name Value:integer Global-Default:boolean Age PreemptionPolicy*",
  StorageClass: "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
  CertificateSigningRequest: "Name Age SignerName Requestor RequestedDuration Condition",
  ControllerRevision: "Name Controller Revision Age",
  PodTemplate: "Name Containers Images PodLabels",
};

// Reviews are asked and never listed.
const listed = builtInKinds.filter(({ type }) => !type.kind.endsWith("Review"));

describe("columns", () => {
  test.each(listed.map((kind) => [kind.type.kind, kind.table.columns] as const))(
    "of %s are Kubernetes'",
    (kind, shown) => {
      const texts = shown.map(({ name, type, priority }) => {
        const suffix = type === "string" ? "" : `:${type}`;
        return `${name.replaceAll(" ", "")}${suffix}${priority > 0 ? "*" : ""}`;
      });
      expect(texts.join(" ")).toBe(columns[kind]);
      expect(shown.filter(({ format }) => format === "name").map(({ name }) => name)).toEqual(["Name"]);
    },
  );

  test("of every kind are known", () => {
    expect(new Set(listed.map(({ type }) => type.kind))).toEqual(new Set(Object.keys(columns)));
  });
});
