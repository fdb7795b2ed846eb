import {
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  objectsAt,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { labelsText, textsOf } from "../labels.ts";
import type { KnownCluster } from "../delivery/delivery.ts";
import { namesWith } from "../policies/topology.ts";
import { readShare, type SharedEntry } from "./shares.ts";

/** The clusters of every entry of `placement`. An entry that matches none is an error. */
export function selectClusters(
  input: JsonObject,
  known: readonly KnownCluster[],
): Result<readonly SharedEntry[], string> {
  const entries: SharedEntry[] = [];
  const given = objectsAt(input, "placement");
  if (given.length === 0) return err("placement: expected a list of cluster selectors, found none");
  for (const [index, entry] of given.entries()) {
    const share = readShare(entry["replicas"]);
    const found = JSON.stringify(entry["replicas"]);
    if (share === undefined) return err(`placement[${index}].replicas: expected "70%" or a number, found ${found}`);
    const labels = selectorOf(entry["clusterSelector"]);
    const clusters = namesWith(labels, known);
    if (clusters.length === 0) return err(`no cluster matches ${labelsText(labels) || "an empty selector"}`);
    entries.push({ share, clusters });
  }
  return ok(entries);
}

/** `{region: east}`, or `{labels: {region: east}}`. */
function selectorOf(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const labels = isJsonObject(value) ? (value["labels"] ?? value["matchLabels"]) : undefined;
  return textsOf(objectAt(isJsonObject(labels) ? labels : value));
}
