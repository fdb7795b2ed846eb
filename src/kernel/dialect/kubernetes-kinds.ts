import { splitApiVersion } from "#kernel/model/index.ts";
import { nearest } from "#lib/text/index.ts";

// Groups that Kubernetes itself owns hold a closed set of kinds, so that a name outside of it is a mistake wherever the
// document goes. Any other group may be served by a definition that nobody has shown us.

/** The kinds of groups in which Kubernetes 1.34 serves them, stable or not; `List` is the envelope of several objects. */
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
  const meant = nearest(kind, known);
  return { hint: meant === undefined ? undefined : `did you mean "${meant}"?` };
}
