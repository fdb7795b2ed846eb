// Markdown for the reference pages.
const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;

/** A table without the columns that are empty in every row. */
export function table(head, rows) {
  const said = head.map((_, column) => rows.some((cells) => cells[column] !== ""));
  const [first, ...others] = [head, ...rows].map((cells) => row(cells.filter((_, column) => said[column])));
  return ["", first, row(head.flatMap((_, column) => (said[column] ? ["---"] : []))), ...others, ""];
}

export const code = (text) => `\`${text}\``;

export const generatedFrom = (what) => `<!-- Generated from ${what} by scripts/reference.mjs; do not edit. -->`;
