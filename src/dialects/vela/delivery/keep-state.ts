import { defined, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { nameOf } from "../labels.ts";
import { keepingLive, keptPaths } from "../policies/apply-rules.ts";
import { prepareObject, writeObject } from "./apply-object.ts";
import { faultText } from "./faults.ts";
import { identityOf, type TrackedObject } from "./tracker.ts";
import type { VelaDelivery } from "./vela-delivery.ts";

export interface KeptState {
  /** Objects that were written because they had drifted or were gone. */
  readonly restored: readonly string[];
  readonly problems: readonly string[];
}

/** Paths of an object that something else decides, such as the replicas of a rollout. */
export type LivePaths = (entry: TrackedObject) => readonly string[];

/**
 * Applies the objects of the present revision again whose live state differs. Secrets are found by their key in what
 * `readRenderedResources` returns; those that steps have applied themselves are not kept.
 */
export async function keepState(
  delivery: VelaDelivery,
  secrets: ReadonlyMap<string, KubeObject> = new Map(),
  livePaths: LivePaths = () => [],
): Promise<KeptState> {
  const restored: string[] = [];
  const problems: string[] = [];
  for (const { objects } of await delivery.trackers.current())
    for (const entry of objects) {
      const wanted = wantedOf(entry, secrets);
      if (wanted === undefined) continue;
      try {
        if (await keepOne(delivery, entry, wanted, livePaths(entry))) restored.push(nameOf(wanted));
      } catch (thrown) {
        const where = entry.cluster === "local" ? "" : ` of cluster ${entry.cluster}`;
        problems.push(`${nameOf(wanted)}${where}: ${faultText(thrown, delivery.parts.signal)}`);
      }
    }
  return { restored, problems };
}

/** The entry says what the object is: text that was stored for another object is not applied in its place. */
function wantedOf(entry: TrackedObject, secrets: ReadonlyMap<string, KubeObject>): KubeObject | undefined {
  const { raw, key, cluster } = entry;
  const found = raw === undefined ? secrets.get(key ?? "") : (raw as unknown as KubeObject);
  if (found === undefined || (raw === undefined && found.kind !== "Secret")) return undefined;
  const { apiVersion, kind, metadata } = found;
  const { name = "", namespace } = metadata ?? {};
  // The same component may be placed elsewhere under another name or namespace.
  const own = identityOf({ cluster, apiVersion, kind, name, ...defined({ namespace }) });
  return own === identityOf(entry) ? found : undefined;
}

async function keepOne(
  delivery: VelaDelivery,
  entry: TrackedObject,
  wanted: KubeObject,
  others: readonly string[],
): Promise<boolean> {
  const { app, clusters, signal } = delivery.parts;
  const subject = delivery.subjectOf({ role: entry.role ?? "WORKLOAD", ...entry, object: wanted });
  const paths = [...keptPaths(app, subject, "onStateKeep"), ...others];
  if (paths.includes("*")) return false;
  const client = await clusters.client(entry.cluster, signal);
  if (!client.ok) throw new Error(client.error);
  const prepared = await prepareObject(delivery.parts, client.value, wanted, subject);
  if (prepared.claim.kind !== "write") return false;
  const { live } = prepared;
  if (live?.metadata.deletionTimestamp !== undefined) return false;
  const kept = keepingLive(wanted, live, paths);
  if (live !== undefined && kept !== undefined && isWithin(asJson(kept), asJson(live))) return false;
  const stored = await writeObject(delivery.parts, { ...prepared, object: kept ?? wanted }, "onStateKeep");
  return stored.metadata.resourceVersion !== live?.metadata.resourceVersion;
}

/** Whether all that is wanted is there; the server adds more. Lists must have the same items in the same order. */
export function isWithin(wanted: JsonValue | undefined, live: JsonValue | undefined): boolean {
  if (Array.isArray(wanted)) {
    const items: readonly JsonValue[] = wanted;
    if (!Array.isArray(live) || live.length !== items.length) return false;
    const found: readonly JsonValue[] = live;
    return items.every((item, index) => isWithin(item, found[index]));
  }
  if (!isJsonObject(wanted)) return wanted === undefined || wanted === null ? true : wanted === live;
  return isJsonObject(live) && Object.entries(wanted).every(([name, value]) => isWithin(value, live[name]));
}
