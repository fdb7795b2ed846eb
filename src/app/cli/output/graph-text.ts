import { oneLine } from "#lib/base/index.ts";
import type { GraphNode, RunGraph } from "#kernel/dialect/index.ts";
import { dot, mermaid } from "./graph-drawings.ts";
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
