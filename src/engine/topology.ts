import { type Adjacency, degree } from "./adjacency.ts";
import { int } from "./arrays.ts";
import { type IntHeap, popLeast, pushLeast } from "./heap.ts";

/** Kahn's algorithm, earliest declared node first. Shorter than the graph if there is a cycle. */
export function topologicalOrder(predecessors: Adjacency, successors: Adjacency): Int32Array {
  const count = predecessors.offsets.length - 1;
  const open = new Int32Array(count);
  const ready: IntHeap = [];
  for (let node = 0; node < count; node++) {
    open[node] = degree(predecessors, node);
    if (open[node] === 0) pushLeast(ready, node);
  }
  const order = new Int32Array(count);
  let length = 0;
  for (let node = popLeast(ready); node !== undefined; node = popLeast(ready)) {
    order[length++] = node;
    const end = int(successors.offsets, node + 1);
    for (let edge = int(successors.offsets, node); edge < end; edge++) {
      const next = int(successors.targets, edge);
      const left = int(open, next) - 1;
      open[next] = left;
      if (left === 0) pushLeast(ready, next);
    }
  }
  return order.subarray(0, length);
}

/** Longest path from a root. Needs a complete order. */
export function ranksOf(order: Int32Array, predecessors: Adjacency): Int32Array {
  const rank = new Int32Array(order.length);
  for (const node of order) {
    let highest = 0;
    const end = int(predecessors.offsets, node + 1);
    for (let edge = int(predecessors.offsets, node); edge < end; edge++) {
      highest = Math.max(highest, int(rank, int(predecessors.targets, edge)) + 1);
    }
    rank[node] = highest;
  }
  return rank;
}
