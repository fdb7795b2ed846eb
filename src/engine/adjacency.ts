import { int } from "./arrays.ts";

/** Neighbours of node `n`: `targets[offsets[n]]` up to `targets[offsets[n + 1] - 1]`, ascending. */
export interface Adjacency {
  /** One more than there are nodes; the last one is the number of edges. */
  readonly offsets: Int32Array;
  readonly targets: Int32Array;
}

/** The neighbours of a node as a view on the shared array; ascending. O(1). */
export const neighbours = (of: Adjacency, node: number): Int32Array =>
  of.targets.subarray(of.offsets[node], of.offsets[node + 1]);

export const degree = (of: Adjacency, node: number): number => int(of.offsets, node + 1) - int(of.offsets, node);

/** Sources of node `n`: `sources[offsets[n]]` up to `sources[offsets[n + 1] - 1]`, in any order. */
export interface IncomingEdges {
  readonly offsets: Int32Array;
  readonly sources: Int32Array;
}

/** Both directions. Duplicates must be gone. */
export function adjacencies({ offsets, sources }: IncomingEdges): {
  readonly predecessors: Adjacency;
  readonly successors: Adjacency;
} {
  const successors = reversed({ offsets, targets: sources });
  return { predecessors: reversed(successors), successors };
}

/** Ascending, because nodes are visited in order. */
function reversed({ offsets: from, targets: to }: Adjacency): Adjacency {
  const count = from.length - 1;
  const edges = int(from, count);
  const offsets = new Int32Array(count + 1);
  for (let edge = 0; edge < edges; edge++) {
    const target = int(to, edge);
    offsets[target + 1] = int(offsets, target + 1) + 1;
  }
  for (let node = 0; node < count; node++) offsets[node + 1] = int(offsets, node + 1) + int(offsets, node);
  const next = offsets.slice(0, count);
  const targets = new Int32Array(edges);
  for (let node = 0; node < count; node++) {
    const end = int(from, node + 1);
    for (let edge = int(from, node); edge < end; edge++) {
      const target = int(to, edge);
      const at = int(next, target);
      targets[at] = node;
      next[target] = at + 1;
    }
  }
  return { offsets, targets };
}
