import { splitApiVersion } from "#kernel/model/index.ts";
import { didYouMean } from "#lib/text/index.ts";

// Kubernetes' own groups have a fixed set of kinds; other groups may be served by unknown definitions.

/** Kinds by group in Kubernetes 1.34; `List` is an envelope. */
const kindsByGroup: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "",
    [
      "Binding",
      "ConfigMap",
      "Endpoints",
      "Event",
      "LimitRange",
      "List",
      "Namespace",
      "Node",
      "PersistentVolume",
      "PersistentVolumeClaim",
      "Pod",
      "PodTemplate",
      "ReplicationController",
      "ResourceQuota",
      "Secret",
      "Service",
      "ServiceAccount",
    ],
  ],
  ["apps", ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]],
  ["autoscaling", ["HorizontalPodAutoscaler", "Scale"]],
  ["batch", ["CronJob", "Job"]],
  ["policy", ["Eviction", "PodDisruptionBudget"]],
  ["rbac.authorization.k8s.io", ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]],
  ["apiextensions.k8s.io", ["ConversionReview", "CustomResourceDefinition"]],
  ["events.k8s.io", ["Event"]],
]);

/**
 * What is wrong with a kind of one of Kubernetes' own groups: `{hint}` says what was probably meant, if anything was.
 * Undefined for kinds that exist, and for every other group, of which nothing can be known without a server. The version is
 * not looked at: which ones are served differs from server to server.
 *
 * `unknownKind("v1", "Pdo")` → `{ hint: 'did you mean "Pod"?' }`; `unknownKind("v1", "Job")` → a hint at `batch`.
 */
export function unknownKind(apiVersion: string, kind: string): { readonly hint: string | undefined } | undefined {
  const known = kindsByGroup.get(splitApiVersion(apiVersion).group);
  if (known === undefined || known.includes(kind)) return undefined;
  const elsewhere = [...kindsByGroup].find(([, kinds]) => kinds.includes(kind))?.[0];
  if (elsewhere !== undefined)
    return { hint: `${kind} belongs to ${elsewhere === "" ? "v1" : `the group ${elsewhere}`}` };
  return { hint: didYouMean(kind, known) };
}
