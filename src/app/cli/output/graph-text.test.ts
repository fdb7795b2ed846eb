import { expect, test } from "vitest";
import type { GraphNode, RunGraph } from "#kernel/dialect/index.ts";
import { formatGraph } from "./graph-text.ts";
import { paintFor } from "#kernel/command/index.node.ts";

const plain = paintFor(false);
const node = (id: string, rank: number, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  name: id,
  rank,
  final: false,
  phase: "Pending",
  ...more,
});
const graph: RunGraph = {
  name: "demo",
  nodes: [node("build", 0), node('say "hi"', 1), node("report", 0, { final: true })],
  edges: [{ from: "build", to: 'say "hi"' }],
};
const rich: RunGraph = {
  name: "rich",
  nodes: [
    node("probe", 0, { forEach: "5 items, 2 at once", phase: "Running", items: "1 of 5 done, 2 active" }),
    node("poll", 0, { repeat: "until result.n > 2, at most 9 rounds", phase: "Succeeded" }),
    node("tell", 1, { condition: 'params.who != "#1" && failure()' }),
  ],
  edges: [{ from: "probe", to: "tell" }],
};

test("text is the topological order, indented by layer, with what each step waits for", () => {
  expect(formatGraph(graph, "text", plain)).toBe('build\n  say "hi"  <- build\nfinally\nreport\n');
});

test("text has the keys of steps beside their names for people, because the lines of others speak of keys", () => {
  const named = { ...graph, nodes: [node("build", 0, { name: "Build it" }), node('say "hi"', 1)] };
  expect(formatGraph(named, "text", plain)).toBe('build (Build it)\n  say "hi"        <- build\n');
});

test("names and conditions of several lines take one, and move no cursor", () => {
  const wild = {
    ...graph,
    nodes: [node("build", 0, { name: "a\u001b[2J\nb", condition: "params.x &&\n  params.y" })],
    edges: [],
  };
  expect(formatGraph(wild, "text", plain)).toBe("build (a[2J b)  if params.x && params.y\n");
});

test("text shows the phases of a run that is under way, conditions, fan-outs and loops", () => {
  expect(formatGraph(rich, "text", plain).split("\n")).toEqual([
    "probe   Running              for each of 5 items, 2 at once; 1 of 5 done, 2 active",
    "poll    Succeeded            repeat until result.n > 2, at most 9 rounds",
    '  tell  Pending    <- probe  if params.who != "#1" && failure()',
    "",
  ]);
});

test("colours are beside the words and change none of them", () => {
  const painted = formatGraph(rich, "text", paintFor(true));
  expect(painted).toContain("\u001b[36mRunning\u001b[39m");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape is what is looked for
  expect(painted.replaceAll(/\u001b\[\d+m/g, "")).toBe(formatGraph(rich, "text", plain));
});

test("mermaid and dot escape names", () => {
  expect(formatGraph(graph, "mermaid", plain)).toBe(
    'graph LR\n  s0["build"]\n  s1["say #quot;hi#quot;"]\n  s2(["report"])\n  s0 --> s1\n',
  );
  expect(formatGraph(graph, "dot", plain)).toContain('"build" -> "say \\"hi\\"";');
});

test("mermaid draws fan-outs, loops and conditions, and phases as classes", () => {
  const drawn = formatGraph(rich, "mermaid", plain);
  expect(drawn).toContain('s0[["probe<br/>for each of 5 items, 2 at once<br/>1 of 5 done, 2 active"]]');
  expect(drawn).toContain("  s1 -.-> s1\n");
  expect(drawn).toContain('s2["tell<br/>if params.who != #quot;#35;1#quot; #amp;#amp; failure()"]');
  expect(drawn).toContain("result.n #gt; 2");
  expect(drawn).toMatch(/classDef Running fill:#\w{6},stroke:#\w{6},color:#000\n {2}class s0 Running\n/);
  expect(drawn).toContain("  class s2 Pending\n");
});

test("dot draws the same", () => {
  const drawn = formatGraph(rich, "dot", plain);
  expect(drawn).toMatch(/"probe" \[label="probe\\nfor each.*", style="filled", peripheries=2, class="Running", fill/);
  expect(drawn).toContain('"poll" -> "poll" [style=dashed];');
  expect(formatGraph(graph, "dot", plain)).toContain('"report" [label="report", style="rounded"];');
});

test("json is the graph itself", () => {
  expect(JSON.parse(formatGraph(rich, "json", plain))).toEqual(rich);
});
