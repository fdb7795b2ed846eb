/** The integer at an index that is known to exist; 0 beyond the end. The compiler cannot know bounds, the algorithms do. */
export const int = (list: Int32Array | Uint8Array, index: number): number => list[index] ?? 0;

/** The item at an index that must exist. A miss is a bug of the caller, hence the exception. */
export function item<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`no item ${index} in a list of ${list.length}`);
  return found;
}
