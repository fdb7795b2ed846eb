import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { isNotFound, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { annotation, label, nameOf, ownerOf } from "../labels.ts";
import { retentionOf } from "../policies/retention.ts";
import { fieldManager } from "./apply-object.ts";
import { faultText } from "./faults.ts";
import { appKey, sharersOf } from "./ownership.ts";
import type { TrackedObject } from "./tracker.ts";
import { trackedObject } from "./tracked-groups.ts";
import type { VelaDelivery } from "./vela-delivery.ts";

/** `left`: the object is not, or no longer, the application's. `pending`: it is terminating. */
export type Removal =
  | { readonly kind: "gone" }
  | { readonly kind: "left"; readonly reason: string }
  | { readonly kind: "pending"; readonly reason: string };

/**
 * Deletes an object that the application applied, with the application's rights. Objects of others stay. A cluster that
 * has been detached counts as gone; one that does not answer is pending.
 */
export async function removeTracked(delivery: VelaDelivery, entry: TrackedObject): Promise<Removal> {
  const { signal, clusters, app } = delivery.parts;
  const wanted = trackedObject(entry);
  const where = entry.cluster === "local" ? nameOf(wanted) : `${nameOf(wanted)} of cluster ${entry.cluster}`;
  const client = await clusters.client(entry.cluster, signal);
  if (!client.ok) return { kind: "left", reason: `${where}: ${client.error}` };
  try {
    const type = await client.value.resourceType(entry.apiVersion, entry.kind);
    const live = type === undefined ? undefined : await getOrUndefined(client.value, refTo(type, wanted), signal);
    if (type === undefined || live === undefined) return { kind: "gone" };
    const own = appKey(app);
    const others = sharersOf(live).filter((name) => name !== own);
    const owner = ownerOf(live);
    const isOwner = owner !== undefined && `${owner.namespace}/${owner.name}` === own;
    if (others.length > 0) {
      await handOver(client.value, type, live, isOwner, others, signal);
      return { kind: "left", reason: `${where} is still used by ${others.join(", ")}` };
    }
    if (!isOwner) return { kind: "left", reason: `${where} is not managed by the application any more` };
    if (live.metadata.deletionTimestamp !== undefined)
      return { kind: "pending", reason: `${where} is still being deleted` };
    const { isOrphaning } = retentionOf(
      app,
      delivery.subjectOf({ role: entry.role ?? "WORKLOAD", ...entry, object: wanted }),
    );
    const answer = await client.value.delete(refTo(type, live), {
      preconditions: { uid: live.metadata.uid },
      propagationPolicy: isOrphaning ? "Orphan" : "Background",
      signal,
    });
    return answer.kind === "Status" ? { kind: "gone" } : { kind: "pending", reason: `${where} is still being deleted` };
  } catch (thrown) {
    if (isNotFound(thrown)) return { kind: "gone" };
    return { kind: "pending", reason: `${where}: ${faultText(thrown, signal)}` };
  }
}

/** The next application in line owns the object from now on. */
async function handOver(
  client: ApiClient,
  type: ResourceType,
  live: Stored,
  isOwner: boolean,
  others: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const [namespace = "", name = ""] = (others[0] ?? "").split("/");
  const { resourceVersion } = live.metadata;
  const labels = isOwner ? { labels: { [label.app]: name, [label.appNamespace]: namespace } } : {};
  const body = { metadata: { resourceVersion, annotations: { [annotation.sharedBy]: others.join(",") }, ...labels } };
  await client.patch(refTo(type, live), { type: "merge", body }, { fieldManager, signal });
}
