import stringWidth from "string-width";

/** Columns of a terminal. Most cells are ASCII, where a letter is a column; the library looks at each of them closely. */
const widthOf = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

/**
 * Columns three spaces apart, header first; no cell wraps, lines have no trailing blanks. Widths count what a
 * terminal shows, so CJK and colours line up. A cell that is missing is empty, one beyond the header is not shown.
 * Each line has an end.
 */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ""))));
  const formatLine = (line: readonly string[]) =>
    header
      .map((_, column) => {
        const cell = line[column] ?? "";
        return cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)));
      })
      .join("   ")
      .trimEnd();
  return lines.map((line) => `${formatLine(line)}\n`).join("");
}

/**
 * Cuts a line to what fits, with an ellipsis in the last column that is used. The line has no colours: a cut escape
 * sequence would colour what follows. O(length).
 */
export function fit(line: string, columns: number, ellipsis = "…"): string {
  if (widthOf(line) <= columns) return line;
  let width = widthOf(ellipsis);
  let cut = "";
  for (const character of line) {
    width += widthOf(character);
    if (width > columns) break;
    cut += character;
  }
  return cut + ellipsis;
}
