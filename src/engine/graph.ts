import { type Adjacency, adjacencies, type IncomingEdges, neighbours } from "./adjacency.ts";
import { int } from "./arrays.ts";
import { shortestCycles } from "./cycles.ts";
import { ranksOf, topologicalOrder } from "./topology.ts";
import { err, ok, type Result } from "./values.ts";

/** One node as declared. The place in the list is its declaration index, which breaks ties in every order. */
export interface NodeSpec {
  readonly id: string;
  /** Ids that must be settled first. Order and repetitions mean nothing. */
  readonly dependsOn: readonly string[];
  /** Hidden node that only joins others: see `stages`. */
  readonly barrier?: boolean;
}

/** A valid acyclic graph. Nodes are numbered by declaration. Immutable, including the arrays. */
export interface Graph {
  readonly ids: readonly string[];
  readonly nodeById: ReadonlyMap<string, number>;
  readonly predecessors: Adjacency;
  readonly successors: Adjacency;
  /** Nodes in topological order: the declared order wherever that is already topological. */
  readonly order: Int32Array;
  /** Inverse of `order`. */
  readonly position: Int32Array;
  /** Longest path from a root. */
  readonly rank: Int32Array;
  /** 1 for barriers. */
  readonly barriers: Uint8Array;
}

export interface GraphLimits {
  readonly nodes: number;
  readonly edges: number;
}

export type GraphProblem =
  | { readonly kind: "duplicate"; readonly id: string }
  | { readonly kind: "unknown"; readonly id: string; readonly dependency: string }
  /** Closed, smallest id first, each id before the next: `[a, b, a]` means b depends on a and a on b. */
  | { readonly kind: "cycle"; readonly path: readonly string[] }
  /** Cycles beyond those listed, at least. */
  | { readonly kind: "moreCycles"; readonly count: number }
  | {
      readonly kind: "tooLarge";
      readonly what: "nodes" | "edges";
      readonly count: number;
      readonly limit: number;
    };

export const defaultGraphLimits: GraphLimits = { nodes: 10_000, edges: 200_000 };

/** Checks and builds a graph; reports every problem. O(V + E) with a logarithm for the order. */
export function buildGraph(
  nodes: readonly NodeSpec[],
  limits: GraphLimits = defaultGraphLimits,
): Result<Graph, readonly GraphProblem[]> {
  const edges = nodes.reduce((sum, node) => sum + node.dependsOn.length, 0);
  const oversize = sizeProblems(nodes.length, edges, limits);
  if (oversize.length > 0) return err(oversize);
  const problems: GraphProblem[] = [];
  const ids = nodes.map((node) => node.id);
  const nodeById = indexIds(ids, problems);
  const { predecessors, successors } = adjacencies(resolveEdges(nodes, edges, nodeById, problems));
  const order = topologicalOrder(predecessors, successors);
  if (order.length < nodes.length) problems.push(...cycleProblems(ids, successors));
  if (problems.length > 0) return err(problems);
  return ok({
    ids,
    nodeById,
    predecessors,
    successors,
    order,
    position: inverse(order),
    rank: ranksOf(order, predecessors),
    barriers: Uint8Array.from(nodes, (node) => (node.barrier === true ? 1 : 0)),
  });
}

function sizeProblems(nodes: number, edges: number, limits: GraphLimits): GraphProblem[] {
  const problems: GraphProblem[] = [];
  if (nodes > limits.nodes) problems.push({ kind: "tooLarge", what: "nodes", count: nodes, limit: limits.nodes });
  if (edges > limits.edges) problems.push({ kind: "tooLarge", what: "edges", count: edges, limit: limits.edges });
  return problems;
}

function indexIds(ids: readonly string[], problems: GraphProblem[]): Map<string, number> {
  const nodeById = new Map<string, number>();
  const reported = new Set<string>();
  for (const [node, id] of ids.entries()) {
    if (!nodeById.has(id)) nodeById.set(id, node);
    else if (!reported.has(id)) {
      reported.add(id);
      problems.push({ kind: "duplicate", id });
    }
  }
  return nodeById;
}

function resolveEdges(
  nodes: readonly NodeSpec[],
  most: number,
  nodeById: ReadonlyMap<string, number>,
  problems: GraphProblem[],
): IncomingEdges {
  const offsets = new Int32Array(nodes.length + 1);
  const sources = new Int32Array(most);
  let count = 0;
  // The last dependant that named a dependency: collapses repetitions without a set per node.
  const namedBy = new Int32Array(nodes.length).fill(-1);
  for (const [node, { id, dependsOn }] of nodes.entries()) {
    for (const dependency of dependsOn) {
      const found = nodeById.get(dependency);
      if (found === undefined) problems.push({ kind: "unknown", id, dependency });
      else if (namedBy[found] !== node) {
        namedBy[found] = node;
        sources[count++] = found;
      }
    }
    offsets[node + 1] = count;
  }
  return { offsets, sources };
}

/** At most ten cycles are listed; each component has one here, so there may be more cycles than counted. */
function cycleProblems(ids: readonly string[], successors: Adjacency): GraphProblem[] {
  const { cycles, more } = shortestCycles(ids, successors);
  const problems: GraphProblem[] = cycles.map((path) => ({ kind: "cycle", path }));
  if (more > 0) problems.push({ kind: "moreCycles", count: more });
  return problems;
}

function inverse(order: Int32Array): Int32Array {
  const position = new Int32Array(order.length);
  for (let at = 0; at < order.length; at++) position[int(order, at)] = at;
  return position;
}

/** Everything that depends on the roots, directly or not, the roots included. O(V + E) of what is reached. */
export function descendants(graph: Graph, roots: Iterable<number>): Set<number> {
  const reached = new Set<number>(roots);
  // A set is iterated in insertion order and grows while we look: it is its own queue.
  for (const node of reached) for (const next of neighbours(graph.successors, node)) reached.add(next);
  return reached;
}

/** One sentence per problem, without the place it was found at. */
export function formatGraphProblem(problem: GraphProblem): string {
  switch (problem.kind) {
    case "duplicate":
      return `id "${problem.id}" is used more than once`;
    case "unknown":
      return `"${problem.id}" depends on "${problem.dependency}", which does not exist`;
    case "cycle":
      return `cycle: ${problem.path.join(" -> ")}`;
    case "moreCycles":
      return `and ${problem.count} more cycles`;
    case "tooLarge":
      return `${problem.count} ${problem.what}, at most ${problem.limit} are allowed`;
  }
}
