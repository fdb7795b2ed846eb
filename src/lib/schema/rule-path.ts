import type { Schema } from "./schema.ts";

/** `.name`, or `['any name']` with `\'` and `\\` inside. */
const part = /\.([^.[\]']+)|\['((?:[^'\\]|\\['\\])*)'\]/gy;

/** Reads the `fieldPath` of a rule, such as `.spec['a.b'].c`, as member names; undefined when it is no such path. */
export function parseRulePath(text: string): readonly string[] | undefined {
  const names: string[] = [];
  part.lastIndex = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    names.push(match[1] ?? (match[2] ?? "").replace(/\\(.)/g, "$1"));
  }
  return names;
}

/** Whether a path leads to a declared member; items of lists have no names. */
export function isDeclaredPath(names: readonly string[], schema: Schema): boolean {
  let node: Schema | undefined = schema;
  for (const name of names) {
    const properties: Schema["properties"] = node?.properties;
    const others: Schema["additionalProperties"] = node?.additionalProperties;
    if (properties !== undefined) node = Object.hasOwn(properties, name) ? properties[name] : undefined;
    else node = typeof others === "object" ? others : undefined;
    if (node === undefined) return false;
  }
  return names.length > 0;
}
