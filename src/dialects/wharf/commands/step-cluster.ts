import { type GlobalOptions, UsageError } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";

type Options = Pick<
  WharfRunOptions & GlobalOptions,
  | "kubeconfig"
  | "context"
  | "namespace"
  | "k8sKubeconfig"
  | "k8sContext"
  | "k8sNamespace"
  | "k8sAs"
  | "k8sAsUid"
  | "k8sAsGroup"
>;

/** The cluster for Pods of steps. `--k8s-*` options override the global ones, which also select a control plane. Throws
 * a UsageError for a uid or groups without a user. */
export function clusterOf({ k8sAs: user, k8sAsUid: uid, k8sAsGroup: groups = [], ...options }: Options) {
  // Kubernetes would ignore them and act as the kubeconfig's account, with more rights than intended.
  if (user === undefined && (uid !== undefined || groups.length > 0))
    throw new UsageError("--k8s-as-uid and --k8s-as-group need --k8s-as");
  const more = { ...(uid === undefined ? {} : { uid }), ...(groups.length === 0 ? {} : { groups }) };
  return {
    kubeconfig: options.k8sKubeconfig ?? options.kubeconfig,
    context: options.k8sContext ?? options.context,
    namespace: options.k8sNamespace ?? options.namespace,
    as: user === undefined ? undefined : { user, ...more },
  };
}
