import { expect, test } from "vitest";
import { buildGraph, frontierOf, type Graph, settle, takeReady } from "./index.ts";

/** a -> (b, c) -> d */
function diamond(): Graph {
  const graph = buildGraph([
    { id: "a", dependsOn: [] },
    { id: "b", dependsOn: ["a"] },
    { id: "c", dependsOn: ["a"] },
    { id: "d", dependsOn: ["b", "c"] },
  ]);
  if (!graph.ok) throw new Error("a diamond is a graph");
  return graph.value;
}

test("settling a node releases those whose last dependency it was", () => {
  const graph = diamond();
  const frontier = frontierOf(graph, () => false);
  expect(settle(frontier, graph, 0)).toEqual([1, 2]);
  expect(settle(frontier, graph, 2)).toEqual([]);
  expect(settle(frontier, graph, 1)).toEqual([3]);
});

test("a node settles once", () => {
  const graph = diamond();
  const frontier = frontierOf(graph, () => false);
  settle(frontier, graph, 0);
  expect(settle(frontier, graph, 0)).toEqual([]);
  expect([...frontier.unsettled]).toEqual([0, 0, 0, 2]);
});

test("ready nodes come in topological order and once each", () => {
  const graph = diamond();
  const frontier = frontierOf(graph, (node) => node === 0);
  expect([takeReady(frontier, graph), takeReady(frontier, graph), takeReady(frontier, graph)]).toEqual([
    1,
    2,
    undefined,
  ]);
});

test("a ready node that settles before it is taken is not handed out", () => {
  const graph = diamond();
  const frontier = frontierOf(graph, () => false);
  settle(frontier, graph, 0);
  settle(frontier, graph, 1);
  expect(takeReady(frontier, graph)).toBe(2);
  expect(takeReady(frontier, graph)).toBeUndefined();
});

test("a node that settles before its dependencies is never ready", () => {
  const graph = diamond();
  const frontier = frontierOf(graph, () => false);
  settle(frontier, graph, 3);
  for (const node of [0, 1, 2]) expect(settle(frontier, graph, node)).not.toContain(3);
});
