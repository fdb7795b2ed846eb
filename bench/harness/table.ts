import type { Spread } from "./statistics.ts";
import type { Compared, Judged } from "./verdict.ts";

const headings = [
  [
    "",
    "measure",
    "ours min/med/max",
    "unit",
    "best peer",
    "floor",
    "x peer",
    "x floor",
    "CPU us/op",
    "hold",
    "goal",
    "verdict",
  ],
] as const;

/** The table for people. Figures with a `~` were taken while the machine was busy with something else. */
export function tableOf(judged: readonly Judged[]): string {
  const rows: (readonly string[])[] = [...headings, ...judged.map(rowOf)];
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, at) => Math.max(known[at] ?? 0, cell.length)),
    [],
  );
  const lines = rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

function rowOf(line: Judged): readonly string[] {
  return [
    line.id,
    line.metric,
    `${spreadText(line.ours)}${line.isNoisy ? " ~" : ""}`,
    line.unit,
    comparedText(line.peer),
    comparedText(line.floor),
    ratioText(line.ratioPeer),
    ratioText(line.ratioFloor),
    [line.cpuUs, line.peer?.cpuUs, line.floor?.cpuUs].map((us) => (us === undefined ? "-" : figure(us))).join(" | "),
    line.hold,
    line.goal,
    { goal: "goal", holds: "holds", below: "BELOW", untold: "-" }[line.verdict],
  ];
}

const comparedText = (compared: Compared | undefined): string =>
  compared === undefined ? "-" : `${compared.name} ${figure(compared.figures[1])}`;

const spreadText = (figures: Spread): string => figures.map(figure).join(" / ");

/** A floor of nothing, as of CPU while idle, is no measure. */
const ratioText = (ratio: number): string => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : "-");

/** Three digits that mean something. */
export function figure(value: number): string {
  if (Number.isNaN(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

/** What was measured beside the table's figures: every other candidate, and what they had to say. */
export function remarksOf(judged: readonly Judged[]): string {
  return judged
    .filter(({ others, heldMs, notes }) => others.length > 0 || notes.length > 0 || !Number.isNaN(heldMs))
    .map(({ id, metric, others, heldMs, notes }) => {
      const rest = others.map(({ name, figures, cpuUs }) => `${name} ${figure(figures[1])} (${figure(cpuUs)} us CPU)`);
      const held = Number.isNaN(heldMs) ? [] : [`event loop held ${figure(heldMs)} ms`];
      return `  ${id} ${metric}: ${[...rest, ...held, ...notes].join("; ")}\n`;
    })
    .join("");
}
