import { objectsAt, textAt } from "#lib/base/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, type KubeObject, Namespace, type ResourceType } from "#kernel/model/index.ts";
import type { ActionScope } from "../ops/provider.ts";
import type { RenderedObject } from "../render/rendered.ts";

// Transport by Open Cluster Management: its agent in a cluster applies what is in the namespace of that name.

const apiVersion = "work.open-cluster-management.io/v1";

/** The kind, if the control plane serves it and the cluster is managed that way. */
export async function manifestWorkType(
  { client, signal }: Pick<ActionScope, "client" | "signal">,
  cluster: string,
): Promise<ResourceType | undefined> {
  const type = await client.resourceType(apiVersion, "ManifestWork");
  if (type === undefined) return undefined;
  const namespace = await getOrUndefined(client, { type: Namespace, name: cluster }, signal);
  return namespace === undefined ? undefined : type;
}

export const manifestWork = (app: string, cluster: string, objects: readonly RenderedObject[]): KubeObject => ({
  apiVersion,
  kind: "ManifestWork",
  metadata: { name: app, namespace: cluster },
  spec: { workload: { manifests: objects.map(({ object }) => asJson(object)) } },
});

/** Why the work is not done yet; absent if it is. */
export function pendingReason(work: KubeObject): string | undefined {
  const { generation = 0 } = work.metadata;
  const conditions = objectsAt(asJson(work), "status", "conditions");
  for (const type of ["Applied", "Available"]) {
    const found = conditions.find((condition) => condition["type"] === type);
    const isCurrent = Number(found?.["observedGeneration"] ?? generation) >= generation;
    if (found?.["status"] !== "True" || !isCurrent) return textAt(found, "message") ?? `is not ${type.toLowerCase()}`;
  }
  return undefined;
}
