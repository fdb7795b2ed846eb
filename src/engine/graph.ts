import { type Adjacency, adjacencies, type IncomingEdges, neighbours, degree } from "./adjacency.ts";
import { int, item } from "./arrays.ts";
import { err, ok, type Result } from "./values.ts";
import { type IntHeap, popLeast, pushLeast } from "./heap.ts";

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

/** Kahn's algorithm, earliest declared node first. Shorter than the graph if there is a cycle. */
function topologicalOrder(predecessors: Adjacency, successors: Adjacency): Int32Array {
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
function ranksOf(order: Int32Array, predecessors: Adjacency): Int32Array {
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

/** More would hide other problems. */
const mostReported = 10;

/** Smallest id first, each before the next; and the number omitted. */
interface CycleReport {
  /** `["a", "b", "a"]`: the first id again at the end. */
  readonly cycles: readonly (readonly string[])[];
  readonly more: number;
}

/** A shortest cycle through the smallest id of each strongly connected component, at most ten. Iterative. O(V + E). */
function shortestCycles(ids: readonly string[], successors: Adjacency): CycleReport {
  const knots = stronglyConnected(successors)
    .filter((knot) => knot.length > 1 || knot.some((node) => neighbours(successors, node).includes(node)))
    .map((knot) => ({ knot: new Set(knot), start: smallest(knot, ids) }))
    .sort((a, b) => compareIds(item(ids, a.start), item(ids, b.start)));
  const cycles = knots
    .slice(0, mostReported)
    .map(({ knot, start }) => shortestCycle(start, knot, successors).map((node) => item(ids, node)));
  return { cycles, more: knots.length - cycles.length };
}

const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const smallest = (nodes: readonly number[], ids: readonly string[]): number =>
  nodes.reduce((least, node) => (compareIds(item(ids, node), item(ids, least)) < 0 ? node : least));

/** Breadth-first, within the component. */
function shortestCycle(start: number, knot: ReadonlySet<number>, successors: Adjacency): number[] {
  const cameFrom = new Map<number, number>();
  const queue = [start];
  for (const node of queue) {
    for (const next of neighbours(successors, node)) {
      if (next === start) return [...pathTo(node, cameFrom), start];
      if (!knot.has(next) || cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  throw new Error("a strongly connected component has a cycle through each of its nodes");
}

function pathTo(node: number, cameFrom: ReadonlyMap<number, number>): number[] {
  const path = [node];
  for (let at = cameFrom.get(node); at !== undefined; at = cameFrom.get(at)) path.push(at);
  return path.reverse();
}

/** Tarjan's algorithm. `nextEdge`: where a suspended call goes on; `low`: the earliest node reachable. */
function stronglyConnected(successors: Adjacency): number[][] {
  const count = successors.offsets.length - 1;
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const onStack = new Uint8Array(count);
  const nextEdge = successors.offsets.slice(0, count);
  const stack: number[] = [];
  const components: number[][] = [];
  let visited = 0;
  const enter = (node: number, calls: number[]) => {
    index[node] = low[node] = visited++;
    onStack[node] = 1;
    stack.push(node);
    calls.push(node);
  };
  for (let root = 0; root < count; root++) {
    if (index[root] !== -1) continue;
    const calls: number[] = [];
    enter(root, calls);
    for (let node = calls.at(-1); node !== undefined; node = calls.at(-1)) {
      const edge = int(nextEdge, node);
      if (edge < int(successors.offsets, node + 1)) {
        nextEdge[node] = edge + 1;
        const next = int(successors.targets, edge);
        if (index[next] === -1) enter(next, calls);
        else if (onStack[next] === 1) low[node] = Math.min(int(low, node), int(index, next));
        continue;
      }
      calls.pop();
      const caller = calls.at(-1);
      if (caller !== undefined) low[caller] = Math.min(int(low, caller), int(low, node));
      if (low[node] === index[node]) components.push(popComponent(stack, onStack, node));
    }
  }
  return components;
}

/** Pops the component of `root`. */
function popComponent(stack: number[], onStack: Uint8Array, root: number): number[] {
  const component: number[] = [];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    onStack[node] = 0;
    component.push(node);
    if (node === root) break;
  }
  return component;
}
