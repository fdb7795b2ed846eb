import { type Instant, type JsonObject, type JsonValue, parseInstant, textAt } from "#lib/base/index.ts";
import { compileJsonPath } from "#lib/json/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, invalidAge, nameColumn } from "../tables/columns.ts";
import type { DefinitionColumn } from "./definition.ts";

const ageOnly: DefinitionColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  priority: 0,
  description: ageColumn.description ?? "",
};

/** The name, then the columns or the age. Missing or wrong values are "" in text columns and null otherwise. */
export function customTable(columns: readonly DefinitionColumn[]): TableView {
  const shown = columns.length === 0 ? [ageOnly] : columns;
  const cells = shown.map(compileCell);
  return {
    columns: [nameColumn, ...shown.map(({ jsonPath, ...column }) => ({ description: pathText(jsonPath), ...column }))],
    row: (object, now) => [textAt(object, "metadata", "name") ?? "", ...cells.map((cell) => cell(object, now))],
  };
}

const pathText = (path: string): string => `Custom resource definition column (in JSONPath format): ${path}`;

/** Pure and total. */
type Cell = (object: JsonObject, now: Instant) => JsonValue;

function compileCell({ type, jsonPath }: DefinitionColumn): Cell {
  const path = compileJsonPath(jsonPath);
  const missing = type === "string" ? "" : null;
  // Invalid paths were refused when written.
  if (!path.ok) return () => missing;
  return (object, now) => {
    const found = path.value.find(object);
    const value = found.ok ? found.value[0] : undefined;
    return value === undefined || value === null ? missing : formatCell(type, value, now);
  };
}

/** An empty text is an unknown time. */
const dateCell = (text: string, now: Instant): string =>
  text !== "" && parseInstant(text) === undefined ? invalidAge : ageOf(text, now);

/** Dates become ages; fractions are cut. */
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
