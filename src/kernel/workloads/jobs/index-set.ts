/**
 * Completion indexes as Kubernetes writes them: `0-2,5` -> 0, 1, 2, 5. Malformed parts, which no server stores, are left out; so
 * is nothing. As large as the numbers it names: a Job has at most 100,000 indexes.
 */
export function parseIndexes(text: string | undefined): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match === null) continue;
    const first = Number(match[1]);
    for (let index = first; index <= Number(match[2] ?? first); index++) indexes.add(index);
  }
  return indexes;
}

/** Undoes parseIndexes: ascending, each once, runs of two or more joined: `3-4`. No indexes are an empty text. */
export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  const runs: { first: number; last: number }[] = [];
  for (const index of sorted) {
    const run = runs.at(-1);
    if (run !== undefined && run.last === index - 1) run.last = index;
    else runs.push({ first: index, last: index });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}
