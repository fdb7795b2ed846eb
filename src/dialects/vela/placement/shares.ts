/** How many replicas the clusters of one entry get together: a percentage, a number, or all of them each. */
export type Share =
  | { readonly kind: "percent"; readonly percent: number }
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "all" };

export interface SharedEntry {
  readonly share: Share;
  readonly clusters: readonly string[];
}

/** `70%`, or a number. */
export function readShare(value: unknown): Share | undefined {
  if (value === undefined) return { kind: "all" };
  const percent = typeof value === "string" ? /^(\d+(?:\.\d+)?)%$/.exec(value.trim())?.[1] : undefined;
  if (percent !== undefined) return { kind: "percent", percent: Number(percent) };
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 ? { kind: "count", count } : undefined;
}

/**
 * Replicas by cluster. Percentages are rounded by largest remainder: together they are the rounded share of their sum.
 * Several clusters of an entry split its share evenly; the first by name take the remainder.
 */
export function shareReplicas(total: number, entries: readonly SharedEntry[]): ReadonlyMap<string, number> {
  const percentages = entries.map(({ share }) => (share.kind === "percent" ? share.percent : 0));
  const rounded = byLargestRemainder(total, percentages);
  const result = new Map<string, number>();
  for (const [index, { share, clusters }] of entries.entries()) {
    const replicas =
      share.kind === "percent" ? (rounded[index] ?? 0) : share.kind === "count" ? share.count : undefined;
    for (const [cluster, part] of split(replicas, total, clusters))
      result.set(cluster, (result.get(cluster) ?? 0) + part);
  }
  return result;
}

export function byLargestRemainder(total: number, percentages: readonly number[]): readonly number[] {
  // Decimal fractions of percentages are not exact: without this, 10 x 70 % could be below 7.
  const shareOf = (percent: number) => Number(((total * percent) / 100).toFixed(9));
  const exact = percentages.map(shareOf);
  const floors = exact.map(Math.floor);
  const sum = Math.round(shareOf(percentages.reduce((all, percent) => all + percent, 0)));
  const missing = sum - floors.reduce((all, part) => all + part, 0);
  const order = exact
    .map((part, index) => ({ index, remainder: part - Math.floor(part) }))
    .filter(({ remainder }) => remainder > 0)
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  const raised = new Set(order.slice(0, missing).map(({ index }) => index));
  return floors.map((floor, index) => (raised.has(index) ? floor + 1 : floor));
}

function split(replicas: number | undefined, total: number, clusters: readonly string[]) {
  const names = clusters.toSorted();
  if (replicas === undefined) return names.map((name) => [name, total] as const);
  const [each, rest] = [Math.floor(replicas / names.length), replicas % names.length];
  return names.map((name, index) => [name, each + (index < rest ? 1 : 0)] as const);
}
