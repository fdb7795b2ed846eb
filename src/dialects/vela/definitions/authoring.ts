import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Reads definitions as they are shipped: gofmt-like CUE with a plain header. Files of users go to the CUE module.

/** A definition as its author wrote it. */
export interface AuthoredDefinition {
  readonly name: string;
  /** Members of the struct beside `template`: type, description, attributes, … */
  readonly header: JsonObject;
  /** Imports and the body of `template`. */
  readonly template: string;
}

const parts =
  /^((?:import (?:"[^"\n]+"|\(\n[^)]*\))\n\n)?)("[^"\n]+"|[\w-]+): \{\n([^]*?\n)\}\ntemplate: \{\n([^]*)\}\n$/;

export function readAuthored(text: string, file: string): AuthoredDefinition {
  const [, imports, label = "", header = "", body = ""] = parts.exec(text) ?? [];
  if (imports === undefined) throw new Error(`${file} is not in the format of shipped definitions`);
  const name = label.replace(/"/g, "");
  return { name, header: readHeader(`{${header}}`, file), template: `${imports}${body.replace(/^\t/gm, "")}` };
}

const tokens =
  /\s*(?:#"""\n([^]*?)\n([ \t]*)"""#|("(?:[^"\\\n]|\\.)*")|(true|false|-?\d+)|([A-Za-z_]\w*)|([{}[\]:,]))/y;

type Token =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "mark"; readonly value: string };

function* tokensOf(text: string, file: string): Generator<Token, undefined> {
  const pattern = new RegExp(tokens);
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const at = pattern.lastIndex;
    const [whole, raw, indent = "", quoted, plain, word, mark = ""] = pattern.exec(text) ?? [];
    if (whole === undefined) throw new Error(`${file}: cannot read ${text.slice(at, at + 40)}`);
    if (raw !== undefined) yield { kind: "text", value: raw.replaceAll(new RegExp(`^${indent}`, "gm"), "") };
    else if (quoted !== undefined) yield { kind: "text", value: JSON.parse(quoted) as string };
    else if (plain !== undefined) yield { kind: "value", value: JSON.parse(plain) as JsonValue };
    else if (word !== undefined) yield { kind: "text", value: word };
    else yield { kind: "mark", value: mark };
  }
  return undefined;
}

function readHeader(text: string, file: string): JsonObject {
  const list = [...tokensOf(text, file)];
  let at = 0;
  const isMark = (value: string) => list[at]?.kind === "mark" && list[at]?.value === value;
  const wrong = () => new Error(`${file}: unexpected ${JSON.stringify(list[at]?.value ?? "end")} in the header`);
  const value = (): JsonValue => {
    const token = list[at++];
    if (token === undefined) throw wrong();
    if (token.kind !== "mark") return token.value;
    if (token.value === "{") return struct();
    if (token.value !== "[") throw wrong();
    const items: JsonValue[] = [];
    while (!isMark("]")) {
      items.push(value());
      if (isMark(",")) at++;
    }
    at++;
    return items;
  };
  const field = (): readonly [string, JsonValue] => {
    const label = list[at++];
    if (label?.kind !== "text" || !isMark(":")) throw wrong();
    at++;
    const isNested = list[at]?.kind === "text" && list[at + 1]?.kind === "mark" && list[at + 1]?.value === ":";
    return [label.value, isNested ? Object.fromEntries([field()]) : value()];
  };
  const struct = (): JsonObject => {
    const members: Record<string, JsonValue> = {};
    while (!isMark("}")) {
      const [label, content] = field();
      members[label] = content;
      if (isMark(",")) at++;
    }
    at++;
    return members;
  };
  const header = value();
  if (!isJsonObject(header) || at !== list.length) throw wrong();
  return header;
}
