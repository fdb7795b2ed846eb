import { splitApiVersion } from "#kernel/model/index.ts";
import { didYouMean } from "#lib/text/index.ts";

// Kubernetes' own groups have a fixed set of kinds; other groups may be served by unknown definitions.

/** Kinds by group in Kubernetes 1.34; `List` is an envelope. */
const kindsByGroup: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "",
    (
      "Binding ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume " +
      "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ).split(" "),
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
 * Reports an unknown kind in one of Kubernetes' groups, with a hint if one is likely. Undefined for known kinds and for
 * all other groups. The version is ignored: servers differ.
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
