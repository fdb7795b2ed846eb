import type { Endpoint } from "./endpoints.ts";

/**
 * Chooses endpoints in turn, in the proportion of their weights: over any stretch of requests each gets its share to
 * within one. Without any weight all are equal.
 */
export class Balancer {
  readonly #credit = new Map<string, number>();

  /** `tried` are endpoints that did not answer just now. */
  next(endpoints: readonly Endpoint[], tried: ReadonlySet<string> = new Set()): Endpoint | undefined {
    const open = endpoints.filter(({ uid }) => !tried.has(uid));
    const weighted = open.filter(({ weight }) => weight > 0);
    const choice = weighted.length > 0 ? weighted : open.map((endpoint) => ({ ...endpoint, weight: 1 }));
    const total = choice.reduce((sum, { weight }) => sum + weight, 0);
    let best: Endpoint | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const endpoint of choice) {
      const credit = (this.#credit.get(endpoint.uid) ?? 0) + endpoint.weight;
      this.#credit.set(endpoint.uid, credit);
      if (credit > most) [best, most] = [endpoint, credit];
    }
    if (best !== undefined) this.#credit.set(best.uid, most - total);
    this.#forget(endpoints);
    return best;
  }

  #forget(endpoints: readonly Endpoint[]): void {
    if (this.#credit.size <= 2 * endpoints.length + 8) return;
    const known = new Set(endpoints.map(({ uid }) => uid));
    for (const uid of this.#credit.keys()) if (!known.has(uid)) this.#credit.delete(uid);
  }
}
