/** Lines that are shown, counted from 0; `end` is exclusive. */
export interface Span {
  readonly first: number;
  readonly end: number;
}

/**
 * Which line stands in which row, when some lines are hidden. Spans are in order and apart; between two of them lines
 * are missing.
 */
export class LogRows {
  readonly #spans: readonly Span[];
  /** Rows before each span. */
  readonly #before: readonly number[];
  readonly count: number;

  constructor(spans: readonly Span[]) {
    const before: number[] = [];
    let count = 0;
    for (const { first, end } of spans) {
      before.push(count);
      count += end - first;
    }
    this.#spans = spans;
    this.#before = before;
    this.count = count;
  }

  lineOf(row: number): number {
    const at = lastAtMost(this.#before, row);
    return (this.#spans[at]?.first ?? 0) + row - (this.#before[at] ?? 0);
  }

  /** The row of a line; of a hidden one, that of the next shown line, or the last. */
  rowOf(line: number): number {
    const at = lastAtMost(
      this.#spans.map(({ first }) => first),
      line,
    );
    const span = this.#spans[at];
    if (span === undefined || this.count === 0) return 0;
    if (line < span.first) return this.#before[at] ?? 0;
    const row = (this.#before[at] ?? 0) + Math.min(line, span.end) - span.first;
    return Math.min(row, this.count - 1);
  }

  /** Whether lines are missing directly before the line. */
  isAfterGap(line: number): boolean {
    return this.#spans.some(({ first }) => first === line) && line > 0;
  }
}

/** Index of the last number that is not greater; 0 if there is none. */
function lastAtMost(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((sorted[middle] ?? 0) <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** All lines but those hidden; `hidden` in any order. */
export function spansWithout(total: number, hidden: readonly Span[]): readonly Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const { first, end } of hidden.toSorted((a, b) => a.first - b.first)) {
    if (first > from) spans.push({ first: from, end: Math.min(first, total) });
    from = Math.max(from, end);
    if (from >= total) break;
  }
  if (from < total) spans.push({ first: from, end: total });
  return spans;
}

/** Lines around matches; `matches` in order. */
export function spansAround(matches: readonly number[], context: number, total: number): readonly Span[] {
  const spans: Span[] = [];
  for (const line of matches) {
    const [first, end] = [Math.max(0, line - context), Math.min(total, line + context + 1)];
    const last = spans.at(-1);
    if (last !== undefined && first <= last.end)
      spans[spans.length - 1] = { first: last.first, end: Math.max(end, last.end) };
    else if (first < end) spans.push({ first, end });
  }
  return spans;
}
