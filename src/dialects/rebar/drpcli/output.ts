import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import { Refused } from "../failure.ts";

export interface OutputStyle {
  /** `json`, `yaml`, `text` or `table`. */
  readonly format: string;
  readonly fields: readonly string[];
  readonly hasHeader: boolean;
  readonly longestCell: number;
}

/** Ends with a line break. Keys are sorted. */
export function formatted(value: JsonValue, style: OutputStyle): string {
  switch (style.format) {
    case "yaml":
      return `${writeYaml(value)}\n`;
    case "text":
    case "table":
      return tableOf(value, style);
    default:
      return `${JSON.stringify(sorted(value), null, 2)}\n`;
  }
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  // The prototype of a plain object would swallow a key `__proto__`.
  const members = Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key] ?? null)] as const);
  return Object.fromEntries(members);
}

/** A list as rows, an object as its fields, anything else as it is. */
function tableOf(value: JsonValue, style: OutputStyle): string {
  if (Array.isArray(value)) {
    const [first] = value;
    if (!isJsonObject(first))
      return rows(
        ["Index", "Value"],
        value.map((each, at) => [`${at}`, cellOf(each, style)]),
        style,
      );
    const fields = style.fields.length > 0 ? style.fields : Object.keys(first).sort();
    const cells = value.map((each) => fields.map((field) => cellOf(isJsonObject(each) ? each[field] : null, style)));
    return rows(fields, cells, style);
  }
  if (!isJsonObject(value)) return `${cellOf(value, style)}\n`;
  const fields = style.fields.length > 0 ? style.fields : Object.keys(value).sort();
  return rows(
    ["Field", "Value"],
    fields.map((field) => [field, cellOf(value[field], style)]),
    style,
  );
}

function cellOf(value: JsonValue | undefined, { longestCell }: OutputStyle): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > longestCell ? `${line.slice(0, Math.max(1, longestCell - 3))}...` : line;
}

function rows(head: readonly string[], cells: readonly (readonly string[])[], style: OutputStyle): string {
  const all = style.hasHeader ? [head.map((name) => name.toUpperCase()), ...cells] : cells;
  if (style.format === "text") return all.map((row) => `${row.join("\t")}\n`).join("");
  const widths = head.map((_, column) => Math.max(0, ...all.map((row) => row[column]?.length ?? 0)));
  const line = `+${widths.map((width) => "-".repeat(width + 2)).join("+")}+\n`;
  const drawn = all.map((row) => `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |\n`);
  const [top, rest] = style.hasHeader ? [drawn.slice(0, 1).join("") + line, drawn.slice(1)] : ["", drawn];
  return `${line}${top}${rest.join("")}${line}`;
}

/** What a refusal looks like after `Error: `. */
export function refusalText(refused: Refused): string {
  const { Type, Model, Key, Messages } = refused.body;
  const place = Key === "" ? Model : `${Model}/${Key}`;
  const subject = place === "" ? Type : `${Type}: ${place}`;
  const [first = ""] = Messages;
  if (Messages.length === 0) return subject;
  return Messages.length === 1 ? `${subject}: ${first}` : `${subject}\n  ${Messages.join("\n  ")}`;
}
