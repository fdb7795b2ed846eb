/** More gaps than that are somebody's mistake: lines that come as they were printed need one interval, those of two senders two. */
export const mostIntervals = 65_536;

interface Interval {
  first: number;
  last: number;
}

/**
 * Which numbers are present, as intervals: one, for lines that come as they were printed. They may come in any order; memory grows with
 * the gaps, of which there are fewer than 65,536. Numbers are integers from 1.
 */
export class IntervalSet {
  /** Ascending; between two of them something is missing. */
  readonly #intervals: Interval[] = [];

  /** Of what `flat` gave. */
  static of(flat: readonly number[]): IntervalSet {
    const set = new IntervalSet();
    for (let at = 0; at + 1 < flat.length; at += 2)
      set.#intervals.push({ first: flat[at] ?? 0, last: flat[at + 1] ?? 0 });
    return set;
  }

  /** `present`: it was there before. `full`: it would need one interval too many, and is not added. */
  add(number: number): "added" | "present" | "full" {
    const at = this.#countTo(number);
    const [left, right] = [this.#intervals[at - 1], this.#intervals[at]];
    if (left !== undefined && left.last >= number) return "present";
    const [joinsLeft, joinsRight] = [left?.last === number - 1, right?.first === number + 1];
    if (left !== undefined && joinsLeft) {
      left.last = joinsRight && right !== undefined ? right.last : number;
      if (joinsRight) this.#intervals.splice(at, 1);
    } else if (right !== undefined && joinsRight) right.first = number;
    else if (this.#intervals.length >= mostIntervals) return "full";
    else this.#intervals.splice(at, 0, { first: number, last: number });
    return "added";
  }

  has(number: number): boolean {
    const left = this.#intervals[this.#countTo(number) - 1];
    return left !== undefined && left.last >= number;
  }

  /** The highest n for which 1 to n are all present; 0 when 1 is not. */
  get prefix(): number {
    const [first] = this.#intervals;
    return first?.first === 1 ? first.last : 0;
  }

  /** The highest number; 0 when there is none. */
  get highest(): number {
    return this.#intervals.at(-1)?.last ?? 0;
  }

  /** How many intervals. */
  get size(): number {
    return this.#intervals.length;
  }

  /** First and last number of each interval, one after the other. */
  flat(): number[] {
    return this.#intervals.flatMap(({ first, last }) => [first, last]);
  }

  /** How many intervals begin at or before a number. O(1) for what comes last, else O(log intervals). */
  #countTo(number: number): number {
    let [low, high] = [0, this.#intervals.length];
    if (high === 0 || (this.#intervals[high - 1]?.first ?? 0) <= number) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#intervals[middle]?.first ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
