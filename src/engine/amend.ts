/** New values for some fields; `undefined` takes an optional field away. */
export type Changes<T> = { readonly [K in keyof T]?: object extends Pick<T, K> ? T[K] | undefined : T[K] };

/**
 * A copy of `from` with changes. Fields nobody here has heard of come along: they may be a newer version's. Several times
 * faster than spreading and taking fields out, which every transition of every step would pay for.
 */
export function amend<T extends object>(from: T, changes: Changes<T>): T {
  const next: Record<string, unknown> = {};
  const before = from as Readonly<Record<string, unknown>>;
  const after = changes as Readonly<Record<string, unknown>>;
  for (const key in before) {
    const value = Object.hasOwn(after, key) ? after[key] : before[key];
    if (value !== undefined) next[key] = value;
  }
  for (const key in after) {
    if (after[key] !== undefined && !Object.hasOwn(before, key)) next[key] = after[key];
  }
  // Every key of T was taken from one of the two.
  return next as T;
}
