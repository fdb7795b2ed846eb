import { oneLine } from "#lib/base/index.ts";

// Cells may be what somebody has written, of which every row shows one line.

/** The width of every column: that of its longest cell. */
export const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] => {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => oneLine(row[column] ?? "").length)),
  );
};

/** Columns two blanks apart; the last one is not padded, so that lines end where their text does. */
export const layOut = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, column) => oneLine(cell).padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();

/** Lines of a table, in columns as wide as they need to be. */
export function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = widthsOf(rows);
  return rows.map((row) => layOut(row, widths));
}

/** `Name:  value` with the values below each other. */
export const pairsOf = (pairs: readonly (readonly [string, string])[]): readonly string[] =>
  tableOf(pairs.map(([name, value]) => [name === "" ? "" : `${name}:`, value]));
