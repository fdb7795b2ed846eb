const farthest = 2;

/**
 * The candidate nearest to a misspelt id: at most two edits away (insert, delete, replace, swap neighbours), the first
 * of the equally near ones. Undefined when nothing is near, or when the edits would replace the whole word.
 */
export function nearestId(wanted: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let distance = Math.min(farthest + 1, wanted.length);
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= distance) continue;
    const found = editDistance(wanted, candidate);
    if (found < distance) [nearest, distance] = [candidate, found];
  }
  return nearest;
}

/** Optimal string alignment distance. O(length of a * length of b). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(
        cell(previous, column - 1) + (same ? 0 : 1),
        cell(previous, column) + 1,
        cell(current, column - 1) + 1,
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        least = Math.min(least, cell(before, column - 2) + 1);
      }
      current.push(least);
    }
    [before, previous] = [previous, current];
  }
  return cell(previous, b.length);
}

const cell = (row: readonly number[], column: number): number => row[column] ?? 0;
