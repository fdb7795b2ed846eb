/** No sign, no leading zeros: KEP-5504. */
const decimal = /^[1-9]\d*$|^0$/;

/** Negative if `a` is older. Versions are decimal integers of any length; undefined if they cannot be compared. */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** False if they cannot be compared. */
export function isAtLeast(a: string, b: string): boolean {
  const order = compareResourceVersions(a, b);
  return order !== undefined && order >= 0;
}
