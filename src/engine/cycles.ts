import { type Adjacency, neighbours } from "./adjacency.ts";
import { int, item } from "./arrays.ts";

/** More would hide other problems. */
const mostReported = 10;

/** Smallest id first, each before the next; and the number omitted. */
export interface CycleReport {
  /** `["a", "b", "a"]`: the first id again at the end. */
  readonly cycles: readonly (readonly string[])[];
  readonly more: number;
}

/** A shortest cycle through the smallest id of each strongly connected component, at most ten. Iterative. O(V + E). */
export function shortestCycles(ids: readonly string[], successors: Adjacency): CycleReport {
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
