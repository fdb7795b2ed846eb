import { type Instant, type JsonObject, type JsonValue, parseInstant, textAt } from "#lib/base/index.ts";
import { compileJsonPath } from "#lib/json/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, invalidAge, nameColumn } from "../tables/columns.ts";
import type { DefinitionColumn } from "./definition.ts";

/** What a definition without columns gets. */
const ageOnly: DefinitionColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  priority: 0,
  description: ageColumn.description ?? "",
};

/**
 * The table of a custom kind: its name, then the columns of its definition, or its age when there are none. Paths are compiled once,
 * here; a row costs one walk per column. What a path does not find is an empty text in a column of texts, else null, which
 * kubectl prints as nothing; a value of another type than its column counts as not found.
 */
export function customTable(columns: readonly DefinitionColumn[]): TableView {
  const shown = columns.length === 0 ? [ageOnly] : columns;
  const cells = shown.map(compileCell);
  return {
    columns: [nameColumn, ...shown.map(({ jsonPath, ...column }) => ({ description: pathText(jsonPath), ...column }))],
    row: (object, now) => [textAt(object, "metadata", "name") ?? "", ...cells.map((cell) => cell(object, now))],
  };
}

/** What a column without a description says of itself. */
const pathText = (path: string): string => `Custom resource definition column (in JSONPath format): ${path}`;

/** Reads one cell of a row. Pure, and total: whatever the object holds, there is a cell. */
type Cell = (object: JsonObject, now: Instant) => JsonValue;

/** Reads one cell: the first match of the column's path, in the column's type. */
function compileCell({ type, jsonPath }: DefinitionColumn): Cell {
  const path = compileJsonPath(jsonPath);
  const missing = type === "string" ? "" : null;
  // Definitions with other paths are refused when they are written.
  if (!path.ok) return () => missing;
  return (object, now) => {
    const found = path.value.find(object);
    const value = found.ok ? found.value[0] : undefined;
    return value === undefined || value === null ? missing : formatCell(type, value, now);
  };
}

/** An empty text is a time that is not known yet; any other that is no time is a mistake, and shown as one. */
const dateCell = (text: string, now: Instant): string =>
  text !== "" && parseInstant(text) === undefined ? invalidAge : ageOf(text, now);

/** Dates show as ages, as kubectl expects of this type; a number with a fraction is cut, not rounded. */
function formatCell(type: DefinitionColumn["type"], value: JsonValue, now: Instant): JsonValue {
  switch (type) {
    case "date":
      return typeof value === "string" ? dateCell(value, now) : null;
    case "string":
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
  }
}
