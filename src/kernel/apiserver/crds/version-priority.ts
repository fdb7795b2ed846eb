// "Version priority" of Kubernetes' documentation on CustomResourceDefinitions: what clients prefer, and discovery lists first.

const kubernetesVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
/** Stable before beta before alpha, whatever their numbers. */
const ranks: Readonly<Record<string, number>> = { "": 2, beta: 1, alpha: 0 };

/**
 * Orders versions by Kubernetes' priority, best first: v10, v2, v1, v1beta2, v1beta1, v1alpha1, then other words by name. A total
 * order: 0 only for equal texts. `v0` and `v01` are such other words.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [kubernetesVersion.exec(a), kubernetesVersion.exec(b)];
  if (left === null || right === null) {
    if (left !== null) return -1;
    if (right !== null) return 1;
    return a === b ? 0 : a < b ? -1 : 1;
  }
  const rank = (match: RegExpExecArray) => ranks[match[2] ?? ""] ?? 0;
  return rank(right) - rank(left) || Number(right[1]) - Number(left[1]) || Number(right[3] ?? 0) - Number(left[3] ?? 0);
}
