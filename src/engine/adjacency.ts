import { int } from "./arrays.ts";

/** Neighbours of node `n`: `targets[offsets[n]]` up to `targets[offsets[n + 1] - 1]`, ascending, without repetitions. */
export interface Adjacency {
  /** One more than there are nodes; the last one is the number of edges. */
  readonly offsets: Int32Array;
  readonly targets: Int32Array;
}

/** The neighbours of a node as a view on the shared array; ascending. O(1). */
export const neighbours = (of: Adjacency, node: number): Int32Array =>
  of.targets.subarray(of.offsets[node], of.offsets[node + 1]);

/** Number of neighbours of a node. */
export const degree = (of: Adjacency, node: number): number => int(of.offsets, node + 1) - int(of.offsets, node);

/** Groups edges by `keys` with a counting sort; edge `e` leads from `keys[e]` to `targets[e]`. Repetitions must be gone. */
export function adjacency(count: number, keys: Int32Array, targets: Int32Array): Adjacency {
  const offsets = new Int32Array(count + 1);
  for (const key of keys) offsets[key + 1] = int(offsets, key + 1) + 1;
  for (let node = 0; node < count; node++) offsets[node + 1] = int(offsets, node + 1) + int(offsets, node);
  const next = offsets.slice(0, count);
  const sorted = new Int32Array(keys.length);
  for (let edge = 0; edge < keys.length; edge++) {
    const key = int(keys, edge);
    const at = int(next, key);
    sorted[at] = int(targets, edge);
    next[key] = at + 1;
  }
  sortEach(offsets, sorted);
  return { offsets, targets: sorted };
}

/** Sorts every list. They are short and mostly sorted already, so insertion beats the general sort by far. */
function sortEach(offsets: Int32Array, targets: Int32Array): void {
  for (let list = 0; list + 1 < offsets.length; list++) {
    const start = int(offsets, list);
    const end = int(offsets, list + 1);
    if (end - start > 64) targets.subarray(start, end).sort();
    else insertionSort(targets, start, end);
  }
}

function insertionSort(targets: Int32Array, start: number, end: number): void {
  for (let at = start + 1; at < end; at++) {
    const value = int(targets, at);
    let hole = at;
    for (; hole > start && int(targets, hole - 1) > value; hole--) targets[hole] = int(targets, hole - 1);
    targets[hole] = value;
  }
}
