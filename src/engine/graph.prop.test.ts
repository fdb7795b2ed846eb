import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ancestryOf,
  buildGraph,
  frontierOf,
  type Graph,
  neighbours,
  type NodeSpec,
  settle,
  stages,
  takeReady,
} from "./index.ts";
import { acyclicLists, nodeLists } from "./testing/arbitraries.ts";

const built = (nodes: readonly NodeSpec[]): Graph => {
  const graph = buildGraph(nodes);
  if (!graph.ok) throw new Error(JSON.stringify(graph.error));
  return graph.value;
};

const edgesOf = ({ predecessors: { offsets, targets }, ids }: Graph): [number, number][] =>
  ids.flatMap((_, node) =>
    [...targets.subarray(offsets[node], offsets[node + 1])].map((from): [number, number] => [from, node]),
  );

test("(1) the order is a permutation that respects every edge, and the declared order when that is topological", () => {
  fc.assert(
    fc.property(acyclicLists, (nodes) => {
      const graph = built(nodes);
      expect([...graph.order].sort((a, b) => a - b)).toEqual(nodes.map((_, node) => node));
      expect([...graph.order].every((node, at) => graph.position[node] === at)).toBe(true);
      for (const [from, to] of edgesOf(graph)) expect(graph.position[from]).toBeLessThan(graph.position[to] ?? -1);
      const ordered = [...graph.order].map((node) => nodes[node] as NodeSpec);
      expect([...built(ordered).order]).toEqual(nodes.map((_, node) => node));
    }),
  );
});

test("(2) the order does not depend on the order of edges or their repetition", () => {
  fc.assert(
    fc.property(acyclicLists, fc.boolean(), (nodes, twice) => {
      const turned = nodes.map(({ id, dependsOn }) => ({
        id,
        dependsOn: [...dependsOn].reverse().concat(twice ? dependsOn : []),
      }));
      expect(built(turned)).toEqual(built(nodes));
    }),
  );
});

test("(3) every reported cycle is a closed path of real edges without detours, smallest id first", () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const graph = buildGraph(nodes);
      if (graph.ok) return;
      for (const problem of graph.error) {
        if (problem.kind !== "cycle") continue;
        const { path } = problem;
        expect(path.at(0)).toBe(path.at(-1));
        expect([...path].sort()[0]).toBe(path[0]);
        expect(new Set(path).size).toBe(path.length - 1);
        for (const [at, id] of path.slice(0, -1).entries()) {
          const next = nodes.filter((node) => node.id === path[at + 1]);
          expect(next.some((node) => node.dependsOn.includes(id))).toBe(true);
        }
      }
    }),
  );
});

/** Whether taking nodes without open dependencies away, one by one, leaves some over. */
function hasCycle(nodes: readonly NodeSpec[]): boolean {
  let left = [...nodes];
  for (;;) {
    const open = new Set(left.map((node) => node.id));
    const next = left.filter((node) => node.dependsOn.some((id) => open.has(id)));
    if (next.length === left.length) return left.length > 0;
    left = next;
  }
}

test("(4) a graph is accepted exactly when it has no cycle, no unknown name and no id twice", () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const ids = new Set(nodes.map((node) => node.id));
      const isDuplicate = ids.size < nodes.length;
      const isUnknown = nodes.some((node) => node.dependsOn.some((id) => !ids.has(id)));
      const graph = buildGraph(nodes);
      const kinds = new Set(graph.ok ? [] : graph.error.map((problem) => problem.kind));
      expect(kinds.has("duplicate")).toBe(isDuplicate);
      expect(kinds.has("unknown")).toBe(isUnknown);
      // Of nodes that share an id the first stands for all, so the cycles are compared where there are none.
      if (!isDuplicate) expect(kinds.has("cycle")).toBe(hasCycle(nodes));
      expect(graph.ok).toBe(kinds.size === 0);
    }),
  );
});

test("(5) stages accept the same schedules as joining every step with every step of the stage before", () => {
  const groups = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 });
  fc.assert(
    fc.property(groups, fc.infiniteStream(fc.nat()), (sizes, choices) => {
      const named = sizes.map((size, at) => Array.from({ length: size }, (_, n) => `g${at}-${n}`));
      const staged = built(stages(named));
      const filled = named.filter((group) => group.length > 0);
      const full = built(filled.flatMap((group, at) => group.map((id) => ({ id, dependsOn: filled[at - 1] ?? [] }))));
      const frontier = frontierOf(staged, () => false);
      const reference = frontierOf(full, () => false);
      for (;;) {
        settleBarriers(staged, frontier);
        const ready = readyIds(staged, frontier);
        expect(ready).toEqual(readyIds(full, reference));
        const next = ready[(choices.next().value ?? 0) % Math.max(1, ready.length)];
        if (next === undefined) return;
        settle(frontier, staged, staged.nodeById.get(next) ?? -1);
        settle(reference, full, full.nodeById.get(next) ?? -1);
      }
    }),
  );
});

const isReady = (frontier: ReturnType<typeof frontierOf>, node: number) =>
  frontier.unsettled[node] === 0 && frontier.settled[node] === 0;

const readyIds = (graph: Graph, frontier: ReturnType<typeof frontierOf>): string[] =>
  graph.ids.filter((_, node) => graph.barriers[node] === 0 && isReady(frontier, node)).sort();

function settleBarriers(graph: Graph, frontier: ReturnType<typeof frontierOf>): void {
  for (const node of graph.order)
    if (graph.barriers[node] === 1 && isReady(frontier, node)) settle(frontier, graph, node);
}

test("(6) folding settle over the settled nodes, in any order, equals building the frontier from scratch", () => {
  fc.assert(
    fc.property(acyclicLists, fc.infiniteStream(fc.nat()), fc.nat({ max: 12 }), (nodes, choices, count) => {
      const graph = built(nodes);
      const folded = frontierOf(graph, () => false);
      const settled = new Set<number>();
      for (let turn = 0; turn < count; turn++) {
        const node = (choices.next().value ?? 0) % nodes.length;
        const released = settle(folded, graph, node);
        for (const next of released) expect(isReady(folded, next)).toBe(true);
        settled.add(node);
      }
      const scratch = frontierOf(graph, (node) => settled.has(node));
      expect(folded.unsettled).toEqual(scratch.unsettled);
      expect(folded.settled).toEqual(scratch.settled);
      expect(drained(graph, folded)).toEqual(drained(graph, scratch));
    }),
  );
});

function drained(graph: Graph, frontier: ReturnType<typeof frontierOf>): number[] {
  const taken: number[] = [];
  for (let node = takeReady(frontier, graph); node !== undefined; node = takeReady(frontier, graph)) taken.push(node);
  return taken;
}

test("(7) along every edge the rank grows, and a rank is one above the highest before it", () => {
  fc.assert(
    fc.property(acyclicLists, (nodes) => {
      const graph = built(nodes);
      const edges = edgesOf(graph);
      for (const node of graph.order) {
        const before = edges.filter(([, to]) => to === node).map(([from]) => graph.rank[from] ?? 0);
        expect(graph.rank[node]).toBe(Math.max(-1, ...before) + 1);
      }
    }),
  );
});

test("(6) ancestry is what a search along the edges finds", () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const graph = buildGraph(nodes);
      if (!graph.ok) return;
      const { ids, predecessors } = graph.value;
      const search = (node: number): ReadonlySet<number> => {
        const reached = new Set(neighbours(predecessors, node));
        for (const each of reached) for (const next of neighbours(predecessors, each)) reached.add(next);
        return reached;
      };
      const ancestry = ancestryOf(graph.value);
      for (const node of ids.keys()) {
        const direct = [...neighbours(predecessors, node)];
        for (const other of ids.keys()) {
          expect(ancestry.dependsOn(node, other)).toBe(search(node).has(other));
          expect(ancestry.isImplied(node, other)).toBe(direct.some((each) => search(each).has(other)));
        }
      }
    }),
  );
});
