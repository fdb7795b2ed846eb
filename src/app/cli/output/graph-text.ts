import { oneLine } from "#lib/base/index.ts";
import type { GraphNode, RunGraph } from "#kernel/dialect/index.ts";
import { isUnderWay, remarksOf } from "./graph-remarks.ts";
import type { Paint } from "#kernel/command/index.node.ts";
import { toneOf } from "./run-tree.ts";

export type GraphFormat = "text" | "mermaid" | "dot" | "json";

/** Formats a graph of steps. Text is the topological order with the dependencies of each step. */
export function formatGraph(graph: RunGraph, format: GraphFormat, paint: Paint): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(graph, null, 2)}\n`;
    case "mermaid":
      return mermaid(graph);
    case "dot":
      return dot(graph);
    case "text":
      return text(graph, paint);
  }
}

/**
 * One line for each step, indented by layer, so that steps that can run in parallel line up. Columns that are empty for
 * every step are left out.
 */
function text(graph: RunGraph, paint: Paint): string {
  const before = new Map<string, string[]>();
  for (const { from, to } of graph.edges) before.set(to, [...(before.get(to) ?? []), from]);
  const showsPhase = isUnderWay(graph);
  const rows = graph.nodes.map((node) => {
    const dependencies = before.get(node.id) ?? [];
    return {
      node,
      name: `${"  ".repeat(node.rank)}${titleOf(node)}`,
      phase: showsPhase ? node.phase : "",
      before: dependencies.length === 0 ? "" : `<- ${dependencies.join(", ")}`,
      remarks: remarksOf(node).join("; "),
    };
  });
  const widthOf = (column: "name" | "phase" | "before") => Math.max(0, ...rows.map((row) => row[column].length));
  const widths = { name: widthOf("name"), phase: widthOf("phase"), before: widthOf("before") };
  const line = (row: (typeof rows)[number]): string => {
    const cells = [
      row.name.padEnd(widths.name),
      ...(showsPhase ? [paintPhase(row.node, widths.phase, paint)] : []),
      ...(widths.before > 0 ? [row.before.padEnd(widths.before)] : []),
      row.remarks,
    ];
    return `${cells.join("  ").trimEnd()}\n`;
  };
  const main = rows.filter(({ node }) => !node.final).map(line);
  const final = rows.filter(({ node }) => node.final).map(line);
  return `${main.join("")}${final.length === 0 ? "" : `finally\n${final.join("")}`}`;
}

const titleOf = ({ id, name }: GraphNode): string => (name === id ? id : `${id} (${oneLine(name)})`);

const paintPhase = ({ phase }: GraphNode, width: number, paint: Paint): string =>
  `${paint[toneOf(phase)](phase)}${" ".repeat(width - phase.length)}`;

/** Fill and border by meaning; the fills are pale, so that black text stays readable. */
const colours: Readonly<Record<keyof Paint, { readonly fill: string; readonly stroke: string }>> = {
  good: { fill: "#d7f0dc", stroke: "#2e7d32" },
  bad: { fill: "#f9d7d7", stroke: "#b71c1c" },
  active: { fill: "#d6e9fb", stroke: "#1565c0" },
  waiting: { fill: "#fdf0cd", stroke: "#b26a00" },
  dim: { fill: "#eeeeee", stroke: "#757575" },
  bold: { fill: "#ffffff", stroke: "#000000" },
};

/**
 * A Mermaid flowchart. Final steps are round, fan-outs have double sides, a loop has an arrow to itself. Phases are
 * classes of their own names, which users can redefine.
 */
function mermaid(graph: RunGraph): string {
  // Mermaid allows few characters in ids.
  const short = new Map(graph.nodes.map(({ id }, at) => [id, `s${at}`]));
  const idOf = (id: string) => short.get(id) ?? "s";
  const nodes = graph.nodes.map((node) => {
    const [open, close] = node.final ? ["([", "])"] : node.forEach === undefined ? ["[", "]"] : ["[[", "]]"];
    return `  ${idOf(node.id)}${open}"${[node.name, ...remarksOf(node)].map(mermaidText).join("<br/>")}"${close}\n`;
  });
  const edges = graph.edges.map(({ from, to }) => `  ${idOf(from)} --> ${idOf(to)}\n`);
  const loops = graph.nodes.filter(isLoop).map(({ id }) => `  ${idOf(id)} -.-> ${idOf(id)}\n`);
  return ["graph LR\n", ...nodes, ...edges, ...loops, ...mermaidClasses(graph, idOf)].join("");
}

/**
 * Mermaid reads entities inside quotes: they keep quotes and `<` in names and conditions from ending labels or starting
 * tags.
 */
const mermaidText = (text: string): string =>
  text
    .replaceAll("#", "#35;")
    .replaceAll("&", "#amp;")
    .replaceAll('"', "#quot;")
    .replaceAll("<", "#lt;")
    .replaceAll(">", "#gt;");

function mermaidClasses(graph: RunGraph, idOf: (id: string) => string): readonly string[] {
  if (!isUnderWay(graph)) return [];
  const phases = [...new Set(graph.nodes.map(({ phase }) => phase))];
  return phases.flatMap((phase) => {
    const { fill, stroke } = colours[toneOf(phase)];
    const members = graph.nodes.filter((node) => node.phase === phase).map(({ id }) => idOf(id));
    return [
      `  classDef ${phase} fill:${fill},stroke:${stroke},color:#000\n`,
      `  class ${members.join(",")} ${phase}\n`,
    ];
  });
}

/** A Graphviz digraph with the same shapes. */
function dot(graph: RunGraph): string {
  const showsPhase = isUnderWay(graph);
  const nodes = graph.nodes.map((node) => `  ${quote(node.id)} [${dotAttributes(node, showsPhase).join(", ")}];\n`);
  const edges = graph.edges.map(({ from, to }) => `  ${quote(from)} -> ${quote(to)};\n`);
  const loops = graph.nodes.filter(isLoop).map(({ id }) => `  ${quote(id)} -> ${quote(id)} [style=dashed];\n`);
  const head = `digraph ${quote(graph.name)} {\n  rankdir=LR;\n  node [shape=box];\n`;
  return [head, ...nodes, ...edges, ...loops, "}\n"].join("");
}

function dotAttributes(node: GraphNode, showsPhase: boolean): readonly string[] {
  const { fill, stroke } = colours[toneOf(node.phase)];
  const styles = [...(node.final ? ["rounded"] : []), ...(showsPhase ? ["filled"] : [])];
  return [
    `label=${quote([node.name, ...remarksOf(node)].join("\n"))}`,
    ...(styles.length === 0 ? [] : [`style=${quote(styles.join(","))}`]),
    ...(node.forEach === undefined ? [] : ["peripheries=2"]),
    ...(showsPhase ? [`class=${quote(node.phase)}`, `fillcolor=${quote(fill)}`, `color=${quote(stroke)}`] : []),
  ];
}

const quote = (name: string): string => JSON.stringify(name);

const isLoop = ({ repeat }: GraphNode): boolean => repeat !== undefined;
