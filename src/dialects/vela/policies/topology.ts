import { defined, err, isTrueAt, objectAt, ok, type Result, textAt, textsAt } from "#lib/base/index.ts";
import type { Policy } from "../app.ts";
import type { KnownCluster, Placement } from "../delivery/delivery.ts";
import { labelsText, textsOf } from "../labels.ts";

/**
 * Where the policies of type `topology` place components, in order and each place once; `local` without any. Clusters
 * are selected by name, or by labels.
 */
export function placementsOf(
  policies: readonly Policy[],
  clusters: readonly KnownCluster[],
): Result<readonly Placement[], string> {
  const topologies = policies.filter(({ type }) => type === "topology");
  if (topologies.length === 0) return ok([{ cluster: "local" }]);
  const places = new Map<string, Placement>();
  for (const policy of topologies) {
    const selected = clustersOf(policy, clusters);
    if (!selected.ok) return selected;
    const namespace = textAt(policy.properties, "namespace");
    for (const cluster of selected.value)
      places.set(`${cluster}/${namespace ?? ""}`, { cluster, ...defined({ namespace }) });
  }
  return ok([...places.values()]);
}

function clustersOf({ name, properties }: Policy, known: readonly KnownCluster[]): Result<readonly string[], string> {
  const named = textsAt(properties, "clusters");
  if (named.length > 0) {
    const unknown = named.find((cluster) => !known.some((one) => one.name === cluster));
    return unknown === undefined ? ok(named) : err(`failed to get cluster ${unknown}`);
  }
  const selector = objectAt(properties, "clusterLabelSelector") ?? objectAt(properties, "clusterSelector");
  if (selector === undefined) return ok(["local"]);
  const wanted = textsOf(selector);
  const selected = namesWith(wanted, known);
  if (selected.length > 0 || isTrueAt(properties, "allowEmpty")) return ok(selected);
  return err(`policy "${name}": no cluster matches ${labelsText(wanted) || "the selector"}`);
}

/** The clusters that have all these labels. */
export const namesWith = (
  wanted: Readonly<Record<string, string>>,
  known: readonly KnownCluster[],
): readonly string[] => {
  const hasAll = ({ labels }: KnownCluster) => Object.entries(wanted).every(([key, value]) => labels[key] === value);
  return known.filter(hasAll).map(({ name }) => name);
};
