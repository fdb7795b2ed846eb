// Beyond this many changes one merge is cheaper than moving the tail for each.
const fewChanges = 16;

/** A set of texts with a sorted view that is updated only on read, so that writes stay cheap. */
export class SortedIds {
  readonly #added = new Set<string>();
  readonly #removed = new Set<string>();
  #sorted: string[] = [];

  add(id: string): void {
    if (!this.#removed.delete(id)) this.#added.add(id);
  }

  remove(id: string): void {
    if (!this.#added.delete(id)) this.#removed.add(id);
  }

  /** All ids in order; valid until the next change, not to be edited. */
  sorted(): readonly string[] {
    if (this.#added.size + this.#removed.size > fewChanges) this.#merge();
    else if (this.#added.size + this.#removed.size > 0) this.#patch();
    return this.#sorted;
  }

  #patch(): void {
    for (const id of this.#removed) this.#sorted.splice(lowerBound(this.#sorted, id), 1);
    for (const id of this.#added) this.#sorted.splice(lowerBound(this.#sorted, id), 0, id);
    this.#added.clear();
    this.#removed.clear();
  }

  #merge(): void {
    const removed = this.#removed;
    const kept = removed.size === 0 ? this.#sorted : this.#sorted.filter((id) => !removed.has(id));
    this.#sorted = mergeSorted(kept, [...this.#added].sort());
    this.#added.clear();
    this.#removed.clear();
  }
}

export function lowerBound(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? "") < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function mergeSorted(a: readonly string[], b: readonly string[]): string[] {
  const merged: string[] = [];
  let [i, j] = [0, 0];
  for (;;) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined && right === undefined) return merged;
    if (right === undefined || (left !== undefined && left < right)) {
      merged.push(left ?? "");
      i++;
    } else {
      merged.push(right);
      j++;
    }
  }
}
