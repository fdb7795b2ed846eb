/** A binary min-heap; change it only by these functions. */
export type IntHeap = number[];

export function pushLeast(heap: IntHeap, value: number): void {
  let at = heap.length;
  heap.push(value);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] ?? 0;
    if (above <= value) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = value;
}

/** Undefined if empty. O(log n). */
export function popLeast(heap: IntHeap): number | undefined {
  const least = heap[0];
  const last = heap.pop();
  if (heap.length > 0 && last !== undefined) sink(heap, last);
  return least;
}

function sink(heap: IntHeap, value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++;
    const below = heap[child] ?? 0;
    if (below >= value) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = value;
}
