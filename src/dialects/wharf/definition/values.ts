import { below, type Reporter, type Spot } from "./diagnostics.ts";
import { kindOf, type Node, type ScalarNode } from "./node.ts";

// What a field may hold. Literals must have the type; what was substituted is taken as it can be read, because a variable's value has the type
// it happens to have: a build's number is a number, and still part of a tag.

/** What is substituted into a text and is not one, but has one. */
const textual: readonly string[] = ["string", "integer", "float", "boolean", "timestamp"];

/** The spot of a value. */
export const spotOf = (scope: string, node: Node): Spot => ({
  scope,
  at: node.at,
  ...(node.kind === "scalar" && node.madeOf !== undefined ? { madeOf: node.madeOf } : {}),
});

/** The text of a node, or undefined, reported, when it has none. */
export function readText(node: Node, scope: string, { error }: Reporter): string | undefined {
  if (node.kind === "scalar" && (node.tag === "string" || (node.madeOf !== undefined && textual.includes(node.tag))))
    return node.text;
  const hint = node.kind === "scalar" && node.tag !== "null" ? `put it in quotes: "${node.text}"` : undefined;
  error(spotOf(scope, node), "type", `expected text, found ${kindOf(node)}`, { hint });
  return undefined;
}

// Words that other dialects of YAML take for booleans. Here they are texts, and what people mean by them is worth a hint.
const yes: readonly string[] = ["true", "yes", "on", "y"];
const no: readonly string[] = ["false", "no", "off", "n"];

/** A boolean; of a text that was substituted the words for it, in any case. Else undefined, reported, with what to write instead. */
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

/** What a word would mean, if words were taken for booleans. */
function booleanOf({ tag, text }: ScalarNode): boolean | undefined {
  const word = text.toLowerCase();
  if (tag !== "string") return undefined;
  return yes.includes(word) ? true : no.includes(word) ? false : undefined;
}

/** Items that are no texts are reported and left out. */
export function readTexts(node: Node, scope: string, reporter: Reporter): readonly string[] | undefined {
  if (node.kind !== "list") {
    const hint =
      node.kind === "scalar" && node.tag === "string" ? "begin the line below with a dash and a blank" : undefined;
    reporter.error(spotOf(scope, node), "type", `expected list of texts, found ${kindOf(node)}`, { hint });
    return undefined;
  }
  return node.items.flatMap((item, index) => readText(item, `${scope}[${index}]`, reporter) ?? []);
}

/** Members that are no texts are reported and left out. */
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
