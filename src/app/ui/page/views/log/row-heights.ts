/**
 * Where rows stand when wrapped ones are higher than the others. Rows that were never drawn count as one line high.
 */
export class RowHeights {
  readonly #line: number;
  /** What a row has beyond one line, of those that have more; and its sums, made when asked for. */
  readonly #extra = new Map<number, number>();
  #sorted: readonly { readonly row: number; readonly before: number; readonly extra: number }[] | undefined;

  constructor(line: number) {
    this.#line = line;
  }

  /** Notes the height that a row was drawn with; returns by how much it differs from what was known. */
  set(row: number, height: number): number {
    const extra = Math.max(0, height - this.#line);
    const change = extra - (this.#extra.get(row) ?? 0);
    if (change === 0) return 0;
    if (extra === 0) this.#extra.delete(row);
    else this.#extra.set(row, extra);
    this.#sorted = undefined;
    return change;
  }

  /** Of the first `count` rows together, which is where the next one begins. */
  topOf(count: number): number {
    const last = this.#sums().findLast(({ row }) => row < count);
    return count * this.#line + (last === undefined ? 0 : last.before + last.extra);
  }

  /** The row at a height, and how far it reaches above it. */
  at(top: number): { readonly row: number; readonly inside: number } {
    const above = this.#sums().findLast(({ row, before }) => row * this.#line + before <= top);
    if (above === undefined) return this.#plain(0, top);
    const own = top - above.row * this.#line - above.before;
    if (own < this.#line + above.extra) return { row: above.row, inside: own };
    return this.#plain(above.row + 1, own - this.#line - above.extra);
  }

  #plain(row: number, top: number) {
    const rows = Math.floor(top / this.#line);
    return { row: row + rows, inside: top - rows * this.#line };
  }

  #sums() {
    if (this.#sorted !== undefined) return this.#sorted;
    let before = 0;
    const sorted = [...this.#extra]
      .sort(([a], [b]) => a - b)
      .map(([row, extra]) => {
        before += extra;
        return { row, before: before - extra, extra };
      });
    this.#sorted = sorted;
    return sorted;
  }
}
