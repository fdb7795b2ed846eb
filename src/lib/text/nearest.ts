/**
 * The candidate with the smallest edit distance to the word, at most `max` edits away, or undefined; the first one wins
 * a tie. An edit inserts, removes or replaces a character or swaps two neighbours; letter case costs nothing. For
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

/** The hint for a misspelt word, `did you mean "build"?`; undefined if no candidate is near. See `nearest`. */
export function didYouMean(word: string, candidates: Iterable<string>, max?: number): string | undefined {
  const meant = nearest(word, candidates, max);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

// A suggestion is a courtesy: it must not cost more than the check that found the mistake.
const mostCandidates = 1_000;
const longestWord = 256;

/** More than any distance of two words, with room to count on. */
const unreachable = 2 * longestWord;

/**
 * Optimal string alignment distance (Damerau-Levenshtein in which no part is edited twice), or anything larger than
 * `limit` when it exceeds that. Counts UTF-16 code units. Words over 256 units are only compared for equality. Costs
 * length x limit.
 */
export function editDistance(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > limit || a.length > longestWord || b.length > longestWord) {
    return a === b ? 0 : Math.max(a.length, b.length);
  }
  let beforeLast = new Uint16Array(b.length + 2);
  let last = Uint16Array.from(beforeLast, (_, column) => column);
  let current = new Uint16Array(b.length + 2);
  for (let row = 1; row <= a.length; row += 1) {
    // Farther from the diagonal than the limit, every distance is larger than the limit.
    const from = Math.max(1, row - limit);
    const to = Math.min(b.length, row + limit);
    current[from - 1] = from === 1 ? row : unreachable;
    current[to + 1] = unreachable;
    // A swap reaches two rows back, but never for less than the row between them: no later row can be below this one.
    if (fillRow({ a, b, row, last, beforeLast, current }, from, to) > limit) return limit + 1;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return last[b.length] ?? 0;
}

interface Rows {
  readonly a: string;
  readonly b: string;
  readonly row: number;
  readonly last: Uint16Array;
  readonly beforeLast: Uint16Array;
  readonly current: Uint16Array;
}

/** Distances of the first `row` units of `a` to the beginnings of `b`, from the two rows before; returns the least. */
function fillRow({ a, b, row, last, beforeLast, current }: Rows, from: number, to: number): number {
  let least = current[from - 1] ?? 0;
  for (let column = from; column <= to; column += 1) {
    const same = a[row - 1] === b[column - 1];
    let distance = Math.min(
      (last[column] ?? 0) + 1,
      (current[column - 1] ?? 0) + 1,
      (last[column - 1] ?? 0) + (same ? 0 : 1),
    );
    const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
    if (swapped) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1);
    current[column] = distance;
    least = Math.min(least, distance);
  }
  return least;
}
