/** Smallest, middle and largest. */
export type Spread = readonly [min: number, median: number, max: number];

/** Of an even number of values the upper middle one; NaN of none. Values that are not numbers are left out. */
export function spread(values: readonly number[]): Spread {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return [sorted[0] ?? NaN, sorted[sorted.length >> 1] ?? NaN, sorted.at(-1) ?? NaN];
}

export const median = (values: readonly number[]): number => spread(values)[1];

/** The value below which the share `p` of the values lies; `sorted` rises. NaN of none. */
export function quantile(sorted: readonly number[], p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? NaN;
}

/** True when two figures differ by less than the share `share` of the larger. */
export const isWithin = (a: number, b: number, share: number): boolean =>
  Math.abs(a - b) < share * Math.max(Math.abs(a), Math.abs(b));
