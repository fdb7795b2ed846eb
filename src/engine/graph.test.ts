import { expect, test } from "vitest";
import {
  buildGraph,
  chain,
  compareBytes,
  defaultGraphLimits,
  descendants,
  formatGraphProblem,
  type Graph,
  type NodeSpec,
  stages,
} from "./index.ts";

const node = (id: string, ...dependsOn: string[]): NodeSpec => ({ id, dependsOn });

const problemsOf = (nodes: readonly NodeSpec[]): string[] => {
  const graph = buildGraph(nodes);
  return graph.ok ? [] : graph.error.map(formatGraphProblem);
};

const built = (nodes: readonly NodeSpec[]): Graph => {
  const graph = buildGraph(nodes);
  if (!graph.ok) throw new Error(graph.error.map(formatGraphProblem).join());
  return graph.value;
};

const orderOf = (graph: Graph): string[] => [...graph.order].map((at) => graph.ids[at] ?? "");

test("every problem is reported at once", () => {
  expect(problemsOf([node("a", "b"), node("b", "a"), node("c", "biuld"), node("build"), node("build")])).toEqual([
    'id "build" is used more than once',
    '"c" depends on "biuld", which does not exist',
    "cycle: a -> b -> a",
  ]);
});

test("a cycle is told from its smallest id on, in the direction of the work", () => {
  expect(problemsOf([node("test", "build"), node("pack", "test"), node("build", "pack")])).toEqual([
    "cycle: build -> test -> pack -> build",
  ]);
});

test("a step that depends on itself is a cycle of length one", () => {
  expect(problemsOf([node("a", "a")])).toEqual(["cycle: a -> a"]);
});

test("of a tangle only a shortest cycle through its smallest id is shown", () => {
  const tangle = [node("a", "c", "d"), node("b", "a"), node("c", "b"), node("d", "c")];
  expect(problemsOf(tangle)).toEqual(["cycle: a -> b -> c -> a"]);
});

test("at most ten cycles are listed, the rest is counted", () => {
  const pairs = Array.from({ length: 13 }, (_, at) => [node(`a${at}`, `b${at}`), node(`b${at}`, `a${at}`)]).flat();
  const problems = problemsOf(pairs);
  expect(problems).toHaveLength(11);
  expect(problems.at(-1)).toBe("and 3 more cycles");
});

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `step-${at}`);

test("a line of ten thousand steps overflows no stack, open or closed", () => {
  const line = chain(names(10_000));
  expect(built(line).rank.at(-1)).toBe(9_999);
  const closed = [node("step-0", "step-9999"), ...line.slice(1)];
  const graph = buildGraph(closed);
  expect(graph.ok ? [] : graph.error.map((problem) => (problem.kind === "cycle" ? problem.path.length : 0))).toEqual([
    10_001,
  ]);
});

test("a graph over the limits is refused with the numbers", () => {
  const graph = buildGraph(chain(names(4)), { nodes: 3, edges: 2 });
  expect(graph.ok ? [] : graph.error.map(formatGraphProblem)).toEqual([
    "4 nodes, at most 3 are allowed",
    "3 edges, at most 2 are allowed",
  ]);
  expect(defaultGraphLimits.nodes).toBe(10_000);
});

test("the order keeps the declared one where it may, and takes the earliest declared step where it must not", () => {
  expect(orderOf(built([node("c", "a"), node("b"), node("a")]))).toEqual(["b", "a", "c"]);
  expect(orderOf(built([node("x"), node("y"), node("z", "x")]))).toEqual(["x", "y", "z"]);
});

test("two stages of a hundred steps cost two hundred edges and one hidden node", () => {
  const left = names(100);
  const graph = built(stages([left, left.map((name) => `${name}-b`)]));
  expect(graph.successors.targets).toHaveLength(200);
  expect(graph.ids).toHaveLength(201);
  expect(graph.barriers.reduce((sum, one) => sum + one, 0)).toBe(1);
});

test("an empty stage is as if it were not there", () => {
  expect(stages([["a"], [], ["b"]])).toEqual(stages([["a"], ["b"]]));
  expect(stages([])).toEqual([]);
});

test("descendants include where they start", () => {
  const graph = built([node("a"), node("b", "a"), node("c", "b"), node("d")]);
  const named = (nodes: ReadonlySet<number>) => [...nodes].map((at) => graph.ids[at] ?? "").sort();
  expect(named(descendants(graph, [1]))).toEqual(["b", "c"]);
  expect(named(descendants(graph, []))).toEqual([]);
});

test("keys of a map are ordered by their UTF-8 bytes", () => {
  const keys = ["b", "a", "ab", "", "\u{1F600}", "\uFFFD", "Z"];
  const byBytes = [...keys].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
  expect([...keys].sort(compareBytes)).toEqual(byBytes);
});
