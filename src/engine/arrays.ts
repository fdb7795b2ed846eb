/** 0 beyond the end, which the algorithms exclude. */
export const int = (list: Int32Array | Uint8Array, index: number): number => list[index] ?? 0;

/** Throws for a missing item, which is a bug. */
export function item<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`no item ${index} in a list of ${list.length}`);
  return found;
}
