import stringWidth from "string-width";

/** ASCII needs no library. */
const widthOf = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text));

/**
 * A table with three spaces between columns and no trailing blanks. Widths are those on a terminal, so that CJK and
 * colours line up. Missing cells are empty, surplus ones are dropped.
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

/** Cuts a line to the width, with an ellipsis. The line must have no colours. */
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
