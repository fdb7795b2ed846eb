/** No sign, no leading zeros: KEP-5504. */
const decimal = /^[1-9]\d*$|^0$/;

/**
 * Orders two resourceVersions of one kind: negative when `a` is older, 0 when equal, positive when newer. Kubernetes promises
 * that they are decimal integers of any length; undefined when one is not, and then nothing may be concluded.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** Is `a` surely at least as new as `b`? False when they cannot be compared: then the caller does the careful thing. */
export function isAtLeast(a: string, b: string): boolean {
  const order = compareResourceVersions(a, b);
  return order !== undefined && order >= 0;
}
