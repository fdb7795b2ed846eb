import type { OwnerReference } from "#kernel/model/index.ts";
import { systemRandom } from "#lib/base/index.node.ts";
import { join } from "node:path";
import {
  type Clock,
  codeOf,
  err,
  messageOf,
  ok,
  type Result,
  silentLog,
  SlipwayError,
  toError,
} from "#lib/base/index.ts";
import {
  type Connection,
  createHttpClient,
  createPodStreams,
  type Impersonation,
  inClusterConnection,
  loadKubeconfig,
} from "#kernel/kit/index.ts";
import type { Cluster } from "./cluster.ts";
import { type KubernetesOptions, KubernetesStepRuntime } from "./kubernetes-runtime.ts";

export interface ClusterChoice {
  /** Default: KUBECONFIG, the Pod's own cluster, ~/.kube/config. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly as?: Impersonation | undefined;
}

interface OpenClusterOptions {
  readonly choice: ClusterChoice;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly accountDirectory?: string;
  readonly clock: Clock;
}

interface OpenKubernetesOptions
  extends OpenClusterOptions,
    Omit<KubernetesOptions, "cluster" | "ownerReferences" | "clock"> {}

const rateLimit = { perSecond: 100, burst: 400 };

export async function openKubernetes({
  choice,
  variables,
  accountDirectory,
  ...more
}: OpenKubernetesOptions): Promise<
  Result<{ readonly runtime: KubernetesStepRuntime; readonly warning?: string }, Error>
> {
  try {
    const cluster = await openCluster({
      choice,
      variables,
      clock: more.clock,
      ...(accountDirectory && { accountDirectory }),
    });
    const { references, warning } = podOwner(variables);
    const runtime = new KubernetesStepRuntime({ ...more, cluster, ownerReferences: references });
    return ok({ runtime, ...(warning === undefined ? {} : { warning }) });
  } catch (thrown) {
    return err(toError(thrown));
  }
}

const whereToFindOne = "name one with --k8s-kubeconfig; that of `slipway up` is ~/.slipway/kubeconfig";

/** The cluster; nothing has been requested yet. Throws if there is none. The caller closes client and streams. */
export async function openCluster({
  choice,
  variables,
  clock,
  accountDirectory,
}: OpenClusterOptions): Promise<Cluster> {
  const found = await connectionOf(choice, variables, clock, accountDirectory);
  const connection = choice.as === undefined ? found : { ...found, impersonate: choice.as };
  const config = { connection, clock, log: silentLog, random: systemRandom, rateLimit, userAgent: "wharf-worker" };
  return {
    client: createHttpClient(config),
    streams: createPodStreams(config),
    namespace: choice.namespace ?? connection.namespace ?? "default",
    server: connection.server,
  };
}

/** Looks in the same places as kubectl. */
async function connectionOf(
  { kubeconfig, context }: ClusterChoice,
  variables: OpenKubernetesOptions["variables"],
  clock: Clock,
  account: string | undefined,
): Promise<Connection> {
  const load = (files: readonly string[]): Promise<Connection> =>
    loadKubeconfig({
      files,
      ...(context === undefined ? {} : { context }),
      environment: variables,
      clock,
      log: silentLog,
    }).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "kubeconfig-missing") throw thrown;
      throw new SlipwayError("kubeconfig-missing", messageOf(thrown), { hint: whereToFindOne, cause: thrown });
    });
  if (kubeconfig !== undefined) return await load([kubeconfig]);
  const named = (variables["KUBECONFIG"] ?? "").split(":").filter((file) => file !== "");
  if (named.length > 0) return await load(named);
  const inside = context === undefined ? await inClusterConnection(variables, clock, account) : undefined;
  if (inside !== undefined) return inside;
  const usual = join(variables["HOME"] ?? "/", ".kube/config");
  return await load([usual]).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "kubeconfig-missing") throw thrown;
    const message = `no cluster was named, and there is no ${usual}`;
    throw new SlipwayError("kubeconfig-missing", message, { hint: whereToFindOne, cause: thrown });
  });
}

interface PodOwner {
  readonly references: readonly OwnerReference[];
  readonly warning?: string;
}

/** The Pod this worker runs in, which owns the Pods of its steps if `WHARF_KUBERNETES_OWNER_ENABLE` is set. */
export function podOwner(variables: Readonly<Record<string, string | undefined>>): PodOwner {
  const {
    WHARF_KUBERNETES_OWNER_ENABLE: isEnabled,
    WHARF_KUBERNETES_OWNER_NAME: name,
    WHARF_KUBERNETES_OWNER_UID: uid,
  } = variables;
  if (!/^(?:true|1)$/i.test(isEnabled ?? "")) return { references: [] };
  if (!name || !uid) {
    const missing = ["NAME", "UID"].filter((part) => !variables[`WHARF_KUBERNETES_OWNER_${part}`]);
    const names = missing.map((part) => `WHARF_KUBERNETES_OWNER_${part}`).join(" and ");
    return {
      references: [],
      warning: `Pods of steps have no owner: WHARF_KUBERNETES_OWNER_ENABLE is set, and ${names} is not`,
    };
  }
  return { references: [{ apiVersion: "v1", kind: "Pod", name, uid, blockOwnerDeletion: true, controller: true }] };
}
