import { expect, test } from "vitest";
import { formatGraph } from "./graph-text.ts";

const node = (id: string, rank: number, final = false) => ({ id, name: id, rank, final, phase: "Pending" as const });
const graph = {
  name: "demo",
  nodes: [node("build", 0), node('say "hi"', 1), node("report", 0, true)],
  edges: [{ from: "build", to: 'say "hi"' }],
};

test("text is the topological order, indented by layer, with what each step waits for", () => {
  expect(formatGraph(graph, "text")).toBe('build\n  say "hi"  <- build\nfinally\nreport\n');
});

test("mermaid and dot escape names", () => {
  expect(formatGraph(graph, "mermaid")).toBe(
    'graph LR\n  s0["build"]\n  s1["say #quot;hi#quot;"]\n  s2(["report"])\n  s0 --> s1\n',
  );
  expect(formatGraph(graph, "dot")).toContain('"build" -> "say \\"hi\\"";');
});

test("json is the graph itself", () => {
  expect(JSON.parse(formatGraph(graph, "json"))).toEqual(graph);
});
