/** More gaps than this are a sender's error. */
export const mostIntervals = 65_536;

interface Interval {
  first: number;
  last: number;
}

/** A set of positive integers as intervals; memory grows with the gaps, up to `mostIntervals`. */
export class IntervalSet {
  readonly #intervals: Interval[];

  /** Contains 1 to `upTo`. */
  constructor(upTo = 0) {
    this.#intervals = upTo > 0 ? [{ first: 1, last: upTo }] : [];
  }

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

  /** The highest n for which 1 to n are all present. */
  get prefix(): number {
    const [first] = this.#intervals;
    return first?.first === 1 ? first.last : 0;
  }

  get highest(): number {
    return this.#intervals.at(-1)?.last ?? 0;
  }

  get size(): number {
    return this.#intervals.length;
  }

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
