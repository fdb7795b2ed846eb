import { degree } from "./adjacency.ts";
import { int } from "./arrays.ts";
import type { Graph } from "./graph.ts";
import { type IntHeap, popLeast, pushLeast } from "./heap.ts";

/** Mutable readiness of a graph, with one owner. Rebuilt when in doubt. */
export interface Frontier {
  /** Unsettled predecessors per node. */
  readonly unsettled: Int32Array;
  /** 1 for settled nodes. */
  readonly settled: Uint8Array;
  /** Ready nodes by topological position; some may be settled since. */
  readonly ready: IntHeap;
}

/** Builds a frontier from scratch. O(V + E), and a logarithm for the ready nodes. */
export function frontierOf(graph: Graph, isSettled: (node: number) => boolean): Frontier {
  const count = graph.ids.length;
  const unsettled = new Int32Array(count);
  const settled = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    unsettled[node] = degree(graph.predecessors, node);
    if (isSettled(node)) settled[node] = 1;
  }
  for (let node = 0; node < count; node++) if (settled[node] === 1) release(unsettled, graph, node);
  const ready: IntHeap = [];
  for (let node = 0; node < count; node++) {
    if (unsettled[node] === 0 && settled[node] === 0) pushLeast(ready, int(graph.position, node));
  }
  return { unsettled, settled, ready };
}

function release(unsettled: Int32Array, graph: Graph, node: number): void {
  const { offsets, targets } = graph.successors;
  const end = int(offsets, node + 1);
  for (let edge = int(offsets, node); edge < end; edge++) {
    const next = int(targets, edge);
    unsettled[next] = int(unsettled, next) - 1;
  }
}

/** Settles a node once and returns the nodes that became ready. O(out-degree) plus a logarithm per ready node. */
export function settle(frontier: Frontier, graph: Graph, node: number): number[] {
  if (frontier.settled[node] !== 0) return [];
  frontier.settled[node] = 1;
  const { offsets, targets } = graph.successors;
  const end = int(offsets, node + 1);
  const released: number[] = [];
  for (let edge = int(offsets, node); edge < end; edge++) {
    const next = int(targets, edge);
    const left = int(frontier.unsettled, next) - 1;
    frontier.unsettled[next] = left;
    if (left !== 0 || frontier.settled[next] === 1) continue;
    released.push(next);
    pushLeast(frontier.ready, int(graph.position, next));
  }
  return released;
}

/** The first ready node, each once; undefined if there is none. */
export function takeReady(frontier: Frontier, graph: Graph): number | undefined {
  for (let position = popLeast(frontier.ready); position !== undefined; position = popLeast(frontier.ready)) {
    const node = int(graph.order, position);
    if (frontier.settled[node] === 0) return node;
  }
  return undefined;
}
