import type { RunGraph } from "#dialects/index.ts";

/** `text` is for people, `mermaid` and `dot` for other programs' pictures, `json` for their own. */
export type GraphFormat = "text" | "mermaid" | "dot" | "json";

/** A graph of steps in one of the formats people paste elsewhere. Text is the topological order with what each step waits for. */
export function formatGraph(graph: RunGraph, format: GraphFormat): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(graph, null, 2)}\n`;
    case "mermaid":
      return mermaid(graph);
    case "dot":
      return dot(graph);
    case "text":
      return text(graph);
  }
}

/** Short names for mermaid, whose own may hold hardly anything. */
const idOf = (graph: RunGraph) => {
  const index = new Map(graph.nodes.map((node, at) => [node.id, `s${at}`]));
  return (id: string) => index.get(id) ?? "s";
};

function mermaid(graph: RunGraph): string {
  const short = idOf(graph);
  // Mermaid reads entities inside quotes, so a quote in a name does not end the label.
  const label = (name: string) => `"${name.replaceAll("#", "#35;").replaceAll('"', "#quot;")}"`;
  const nodes = graph.nodes.map(
    (node) => `  ${short(node.id)}${node.final ? "([" : "["}${label(node.name)}${node.final ? "])" : "]"}\n`,
  );
  const edges = graph.edges.map(({ from, to }) => `  ${short(from)} --> ${short(to)}\n`);
  return `graph LR\n${nodes.join("")}${edges.join("")}`;
}

/** Quoted ids of Graphviz know the escapes of JSON that can occur in a name. */
function dot(graph: RunGraph): string {
  const quote = (name: string) => JSON.stringify(name);
  const nodes = graph.nodes.map(
    ({ id, name, final }) => `  ${quote(id)} [label=${quote(name)}${final ? ", style=rounded" : ""}];\n`,
  );
  const edges = graph.edges.map(({ from, to }) => `  ${quote(from)} -> ${quote(to)};\n`);
  return `digraph ${quote(graph.name)} {\n  rankdir=LR;\n  node [shape=box];\n${nodes.join("")}${edges.join("")}}\n`;
}

/** Indented by layer, so that what can run side by side stands in one column. */
function text(graph: RunGraph): string {
  const width = Math.max(0, ...graph.nodes.map(({ name, rank }) => name.length + rank * 2));
  const before = new Map<string, string[]>();
  for (const { from, to } of graph.edges) before.set(to, [...(before.get(to) ?? []), from]);
  const line = ({ id, name, rank }: RunGraph["nodes"][number]) => {
    const dependencies = before.get(id) ?? [];
    const indented = `${"  ".repeat(rank)}${name}`;
    return `${dependencies.length === 0 ? indented : `${indented.padEnd(width)}  <- ${dependencies.join(", ")}`}\n`;
  };
  const main = graph.nodes.filter(({ final }) => !final).map(line);
  const final = graph.nodes.filter((node) => node.final).map(line);
  return `${main.join("")}${final.length === 0 ? "" : `finally\n${final.join("")}`}`;
}
