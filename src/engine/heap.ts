/** A min-heap of small integers: `push` and `pop` are O(log n). */
export interface IntHeap {
  readonly size: number;
  push(value: number): void;
  /** Removes and returns the least value; undefined when empty. */
  pop(): number | undefined;
}

export function createIntHeap(): IntHeap {
  const items: number[] = [];
  return {
    get size() {
      return items.length;
    },
    push(value) {
      let at = items.length;
      items.push(value);
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = items[parent] as number;
        if (above <= value) break;
        items[at] = above;
        at = parent;
      }
      items[at] = value;
    },
    pop() {
      const least = items[0];
      const last = items.pop();
      if (items.length > 0 && last !== undefined) sink(items, last);
      return least;
    },
  };
}

/** Puts `value` into the hole at the top. */
function sink(items: number[], value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= items.length) break;
    if (child + 1 < items.length && (items[child + 1] as number) < (items[child] as number)) child++;
    const below = items[child] as number;
    if (below >= value) break;
    items[at] = below;
    at = child;
  }
  items[at] = value;
}
