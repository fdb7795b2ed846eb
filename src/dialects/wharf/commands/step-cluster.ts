// In which cluster the steps of a build are Pods: what a command line says of that. What it leaves out is looked for by the worker: in its settings,
// in KUBECONFIG, and in the Pod that it may be in.

import { type GlobalOptions, UsageError } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";

/** The options that are read here. */
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

/**
 * Where Pods are to be made, and as whom. Those that begin with `--k8s-` are for Pods alone and win over the options that every command has, which
 * also say where a control plane is. Throws a UsageError for a uid or groups of nobody.
 */
export function clusterOf({ k8sAs: user, k8sAsUid: uid, k8sAsGroup: groups = [], ...options }: Options) {
  // Kubernetes would act as the account of the kubeconfig itself, with more rights than was meant.
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
