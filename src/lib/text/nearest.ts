/**
 * The candidate with the smallest edit distance to the word, at most `max` edits away, or undefined; the first one wins a
 * tie. An edit inserts, removes or replaces a character or swaps two neighbours; letter case costs nothing. For
 * suggestions (`did you mean "build"?`). Costs length of word x length of candidate, for at most 1,000 candidates.
 */
export function nearest(word: string, candidates: Iterable<string>, max = 2): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  // A short word would otherwise match anything: at least half of it must stay, so that one letter suggests nothing.
  let bestDistance = Math.min(max, Math.floor(wanted.length / 2)) + 1;
  let examined = 0;
  for (const candidate of candidates) {
    if ((examined += 1) > mostCandidates) break;
    const distance = editDistance(wanted, candidate.toLowerCase(), bestDistance - 1);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

// A suggestion is a courtesy: it must not cost more than the check that found the mistake.
const mostCandidates = 1_000;
const longestWord = 256;

/**
 * Optimal string alignment distance (Damerau-Levenshtein in which no part is edited twice), or anything larger than `limit`
 * when it exceeds that. Counts UTF-16 code units. Words over 256 units are only compared for equality.
 */
export function editDistance(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > limit || a.length > longestWord || b.length > longestWord) {
    return a === b ? 0 : Math.max(a.length, b.length);
  }
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = distanceRow(a, b, row, last, beforeLast);
    // A swap reaches two rows back, but never for less than the row between them: no later row can be below this one.
    if (Math.min(...current) > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

/** Distances of the first `row` units of `a` to every beginning of `b`, from the two rows before. */
function distanceRow(
  a: string,
  b: string,
  row: number,
  last: readonly number[],
  beforeLast: readonly number[],
): number[] {
  const current = [row];
  for (let column = 1; column <= b.length; column += 1) {
    const same = a[row - 1] === b[column - 1];
    const above = (last[column] ?? 0) + 1;
    const left = (current[column - 1] ?? 0) + 1;
    const diagonal = (last[column - 1] ?? 0) + (same ? 0 : 1);
    const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
    const swap = swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
    current.push(Math.min(above, left, diagonal, swap));
  }
  return current;
}
