import { type FieldPath, isJsonObject, type JsonValue, type Position } from "#lib/base/index.ts";
import type { TemplateProblem } from "#kernel/template/index.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import type { Written } from "./sources.ts";

/** A place in a file; `inText` is the place in the template's text if the one in the file is uncertain. */
export interface TemplatePlace {
  readonly position: Position;
  readonly inText?: string;
}

/** Finds a problem in the template's file: exact if the file's line equals the text's, else where the text begins. */
export function placeOf(
  written: Written<AnyTemplate>,
  { path, line, column }: Pick<TemplateProblem, "column" | "line" | "path">,
): TemplatePlace {
  const fields = path === undefined ? ["spec", "data"] : fieldsOf(path, { spec: written.object.spec ?? {} });
  const start = written.positionOf(fields);
  if (line === undefined || line < 1) return { position: start };
  const isWhole = written.isBare || (written.lines.length === 0 && path === undefined);
  if (isWhole) return { position: { ...start, line, column: column ?? 1 } };
  const text = valueAt({ spec: written.object.spec ?? {} }, fields);
  const wanted = typeof text === "string" ? text.split("\n")[line - 1] : undefined;
  const found = wanted === undefined ? undefined : lineIn(written.lines, start, wanted, line);
  if (found === undefined) return { position: start, inText: `line ${line} of the text` };
  return {
    position: { ...start, line: found.line, column: found.before + (column ?? (wanted ?? "").search(/\S|$/) + 1) },
  };
}

function lineIn(
  lines: readonly string[],
  start: Position,
  wanted: string,
  line: number,
): { readonly line: number; readonly before: number } | undefined {
  const first = lines[start.line - 1] ?? "";
  // On the line of its key, with or without a quotation mark.
  const inline = [start.column - 1, start.column].find((at) => line === 1 && first.startsWith(wanted, at));
  if (inline !== undefined) return { line: start.line, before: inline };
  // In a block below its key.
  const shown = lines[start.line - 1 + line];
  const before = shown === undefined ? -1 : shown.length - wanted.length;
  const isShown = shown?.endsWith(wanted) === true && shown.slice(0, before).trim() === "";
  return isShown ? { line: start.line + line, before } : undefined;
}

/** Fields of a path like `spec.env.A[0]`; names may contain dots. */
function fieldsOf(path: string, root: JsonValue): FieldPath {
  const fields: (string | number)[] = [];
  let value: JsonValue | undefined = root;
  for (let rest = path; rest !== ""; ) {
    const index = /^\[(\d+)\]/.exec(rest);
    const member = rest.startsWith(".") ? rest.slice(1) : rest;
    const name: string | undefined = index === null ? nameIn(value, member) : undefined;
    if (index === null && name === undefined) break;
    fields.push(name ?? Number(index?.[1]));
    rest = name === undefined ? rest.slice(index?.[0].length) : member.slice(name.length);
    value = valueAt(value, fields.slice(-1));
  }
  return fields;
}

const nameIn = (value: JsonValue | undefined, rest: string): string | undefined =>
  Object.keys(isJsonObject(value) ? value : {})
    .filter((name) => rest.startsWith(name) && /^(?:$|[.[])/.test(rest.slice(name.length)))
    .toSorted((a, b) => b.length - a.length)[0];

function valueAt(root: JsonValue | undefined, fields: FieldPath): JsonValue | undefined {
  let value = root;
  for (const field of fields) {
    if (typeof field === "string") value = isJsonObject(value) ? value[field] : undefined;
    else value = Array.isArray(value) ? (value as readonly JsonValue[])[field] : undefined;
  }
  return value;
}
