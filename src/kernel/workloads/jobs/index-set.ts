/** Completion indexes below `end` as Kubernetes writes them: `0-2,5` -> 0, 1, 2, 5. Skips malformed parts. */
export function parseIndexes(text: string | undefined, end = Infinity): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Math.min(Number(match[2] ?? first), end - 1);
    for (let index = first; index <= last; index++) indexes.add(index);
  }
  return indexes;
}

/** The inverse of parseIndexes: ascending, runs joined as in Kubernetes: `3,4,6-8`. */
export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  const runs: { first: number; last: number }[] = [];
  for (const index of sorted) {
    const run = runs.at(-1);
    if (run !== undefined && run.last === index - 1) run.last = index;
    else runs.push({ first: index, last: index });
  }
  const textOf = ({ first, last }: { first: number; last: number }) =>
    first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`;
  return runs.map(textOf).join(",");
}
