import { oneLine } from "#lib/base/index.ts";

// Cells may hold texts of users; a row shows one line of each.

export const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] => {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => oneLine(row[column] ?? "").length)),
  );
};

/** Columns two blanks apart, without trailing blanks. */
export const layOut = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, column) => oneLine(cell).padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();

export function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = widthsOf(rows);
  return rows.map((row) => layOut(row, widths));
}

/** `Name:  value` with the values below each other. */
export const pairsOf = (pairs: readonly (readonly [string, string])[]): readonly string[] =>
  tableOf(pairs.map(([name, value]) => [name === "" ? "" : `${name}:`, value]));
