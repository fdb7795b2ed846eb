import type { Adjacency } from "./graph.ts";
import { createIntHeap } from "./heap.ts";

/**
 * Kahn's algorithm with a min-heap on the declaration index: the one topological order that takes the earliest declared
 * node whenever it may choose. Shorter than the number of nodes when there is a cycle.
 */
export function topologicalOrder(predecessors: Adjacency, successors: Adjacency): Int32Array {
  const count = predecessors.offsets.length - 1;
  const open = new Int32Array(count);
  const ready = createIntHeap();
  for (let node = 0; node < count; node++) {
    open[node] = (predecessors.offsets[node + 1] as number) - (predecessors.offsets[node] as number);
    if (open[node] === 0) ready.push(node);
  }
  const order = new Int32Array(count);
  let length = 0;
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order[length++] = node;
    const end = successors.offsets[node + 1] as number;
    for (let edge = successors.offsets[node] as number; edge < end; edge++) {
      const next = successors.targets[edge] as number;
      const left = (open[next] as number) - 1;
      open[next] = left;
      if (left === 0) ready.push(next);
    }
  }
  return order.subarray(0, length);
}

/** Longest path from a root, for every node; needs a complete topological order. */
export function ranksOf(order: Int32Array, predecessors: Adjacency): Int32Array {
  const rank = new Int32Array(order.length);
  for (const node of order) {
    let highest = 0;
    const end = predecessors.offsets[node + 1] as number;
    for (let edge = predecessors.offsets[node] as number; edge < end; edge++) {
      highest = Math.max(highest, (rank[predecessors.targets[edge] as number] as number) + 1);
    }
    rank[node] = highest;
  }
  return rank;
}
