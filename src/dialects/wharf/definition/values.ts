import { below, type Reporter, type Spot } from "./diagnostics.ts";
import { kindOf, type Node, type ScalarNode } from "./node.ts";

// Literals must have the field's type. Substituted values are converted, because a variable has whatever type its
// value happens to have.

const textual: readonly string[] = ["string", "integer", "float", "boolean", "timestamp"];

export const spotOf = (scope: string, node: Node): Spot => ({
  scope,
  at: node.at,
  ...(node.kind === "scalar" && node.madeOf !== undefined ? { madeOf: node.madeOf } : {}),
});

export function readText(node: Node, scope: string, { error }: Reporter): string | undefined {
  if (node.kind === "scalar" && (node.tag === "string" || (node.madeOf !== undefined && textual.includes(node.tag))))
    return node.text;
  const hint = node.kind === "scalar" && node.tag !== "null" ? `put it in quotes: "${node.text}"` : undefined;
  error(spotOf(scope, node), "type", `expected text, found ${kindOf(node)}`, { hint });
  return undefined;
}

// Booleans of other YAML versions. They are texts here; the error suggests the right word.
const yes: readonly string[] = ["true", "yes", "on", "y"];
const no: readonly string[] = ["false", "no", "off", "n"];

/** Substituted texts may be any word for a boolean. Undefined, after reporting, otherwise. */
export function readBoolean(node: Node, scope: string, { error }: Reporter): boolean | undefined {
  if (node.kind === "scalar") {
    if (typeof node.value === "boolean") return node.value;
    const meant = booleanOf(node);
    if (meant !== undefined && node.madeOf !== undefined) return meant;
    if (meant !== undefined) {
      error(spotOf(scope, node), "type", "expected boolean, found text", { hint: `use ${meant}` });
      return undefined;
    }
  }
  error(spotOf(scope, node), "type", `expected boolean, found ${kindOf(node)}`);
  return undefined;
}

function booleanOf({ tag, text }: ScalarNode): boolean | undefined {
  const word = text.toLowerCase();
  if (tag !== "string") return undefined;
  return yes.includes(word) ? true : no.includes(word) ? false : undefined;
}

export function readTexts(node: Node, scope: string, reporter: Reporter): readonly string[] | undefined {
  if (node.kind !== "list") {
    const hint =
      node.kind === "scalar" && node.tag === "string" ? "begin the line below with a dash and a blank" : undefined;
    reporter.error(spotOf(scope, node), "type", `expected list of texts, found ${kindOf(node)}`, { hint });
    return undefined;
  }
  return node.items.flatMap((item, index) => readText(item, `${scope}[${index}]`, reporter) ?? []);
}

export function readTextMap(node: Node, scope: string, reporter: Reporter): ReadonlyMap<string, string> | undefined {
  if (node.kind !== "map") {
    reporter.error(spotOf(scope, node), "type", `expected map of texts, found ${kindOf(node)}`);
    return undefined;
  }
  return new Map(
    node.members.flatMap(({ name, value }) => {
      const text = readText(value, below(scope, name), reporter);
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}
