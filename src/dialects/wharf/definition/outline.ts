// Values of inputs are texts from a command line or a form; the type of the input decides what they mean.

import type { Input, Environment, InputType } from "./definition.ts";
import { type Reporter, below } from "./diagnostics.ts";
import { readEnvironments } from "./environments.ts";
import { kindOf, memberOf, type MapNode, type Member, isNull, type Node, type ScalarNode } from "./node.ts";
import { readNodes } from "./read-nodes.ts";
import { nearest } from "#lib/text/index.ts";
import { knownMembers, reportMissing } from "./fields.ts";
import { asText, resolveNumber } from "./scalar.ts";
import { readText, spotOf } from "./values.ts";

export interface Outline {
  readonly root: MapNode;
  readonly inputs: readonly Input[];
  /** Values may refer to other variables. */
  readonly environments: ReadonlyMap<string, Environment>;
  readonly stages: readonly Member[];
}

export const reservedKeys: readonly string[] = ["inputs", "environments"];

/** Undefined if the text is no definition; all problems are reported. */
export function readOutline(text: string, reporter: Reporter): Outline | undefined {
  const root = readNodes(text, reporter);
  if (root === undefined) return undefined;
  if (root.kind !== "map") {
    reporter.error({ scope: "", at: root.at }, "type", `expected map of stages, found ${kindOf(root)}`);
    return undefined;
  }
  return {
    root,
    inputs: readInputs(memberOf(root, "inputs")?.value, reporter),
    environments: readEnvironments(memberOf(root, "environments")?.value, reporter),
    stages: root.members.filter(({ name }) => !reservedKeys.includes(name)),
  };
}

const inputTypes: readonly InputType[] = ["string", "password", "number", "choice"];
const isInputType = (word: string): word is InputType => inputTypes.some((type) => type === word);

function readInputs(node: Node | undefined, reporter: Reporter): readonly Input[] {
  if (node === undefined) return [];
  if (isNull(node)) {
    reporter.warn(spotOf("inputs", node), "type", "expected list of inputs, found null; there are none");
    return [];
  }
  if (node.kind !== "list") {
    reporter.error(spotOf("inputs", node), "type", `expected list of inputs, found ${kindOf(node)}`);
    return [];
  }
  const inputs = new Map<string, Input>();
  for (const [index, item] of node.items.entries()) {
    const scope = `inputs[${index}]`;
    const input = readInput(item, scope, reporter);
    const first = input && inputs.get(input.name);
    if (input !== undefined && first === undefined) inputs.set(input.name, input);
    if (first !== undefined) {
      const related = [{ message: "the first one is here", place: first.at }];
      reporter.error(spotOf(scope, item), "input-duplicate", `an input "${first.name}" was declared before`, {
        related,
      });
    }
  }
  return [...inputs.values()];
}

function readInput(node: Node, scope: string, reporter: Reporter): Input | undefined {
  if (node.kind !== "map") {
    reporter.error(spotOf(scope, node), "type", `expected map with name and type, found ${kindOf(node)}`);
    return undefined;
  }
  const members = knownMembers(node.members, scope, ["name", "type", "default", "values"], reporter);
  const required = (field: string): string | undefined => {
    const value = members.get(field)?.value;
    const found = value && readText(value, below(scope, field), reporter);
    if (value === undefined || found === "") reportMissing(spotOf(scope, value ?? node), field, reporter);
    return found === "" ? undefined : found;
  };
  const name = required("name");
  const type = required("type");
  if (type !== undefined && !isInputType(type)) {
    const meant = nearest(type, inputTypes);
    const hint = meant === undefined ? undefined : `did you mean "${meant}"?`;
    const place = spotOf(below(scope, "type"), members.get("type")?.value ?? node);
    reporter.error(place, "input-type-unknown", `expected one of ${inputTypes.join(", ")}, found "${type}"`, { hint });
    return undefined;
  }
  if (name === undefined || type === undefined) return undefined;
  const parts = { name, type, at: node.at };
  const initial = members.get("default")?.value;
  if (type === "choice")
    return readChoice(parts, node, { initial, values: members.get("values")?.value }, scope, reporter);
  const value = initial && scalarAt(initial, below(scope, "default"), reporter);
  return { ...parts, initial: initialOf(parts, value, node, scope, reporter) };
}

type Parts = Pick<Input, "name" | "type" | "at">;

/** Without a default numbers are 0 and everything else is empty. */
function initialOf({ type }: Parts, value: ScalarNode | undefined, node: Node, scope: string, reporter: Reporter) {
  if (type !== "number") return textNode(value?.text ?? "", value ?? node);
  if (value === undefined) return { ...textNode("0", node), tag: "integer", value: 0 } as const;
  const number = resolveNumber(value.text);
  if (number !== undefined) return { ...value, ...number };
  // A default with variables can only be checked after substitution.
  if (!value.text.includes("${"))
    reporter.error(
      spotOf(below(scope, "default"), value),
      "input-value",
      `expected number, found ${JSON.stringify(value.text)}`,
    );
  return value;
}

const textNode = (text: string, { at }: Pick<Node, "at">): ScalarNode => ({ kind: "scalar", ...asText(text), at });

function scalarAt(node: Node, scope: string, reporter: Reporter): ScalarNode | undefined {
  if (node.kind === "scalar") return node.tag === "null" ? undefined : node;
  reporter.error(spotOf(scope, node), "type", `expected text or number, found ${kindOf(node)}`);
  return undefined;
}

/** A choice requires values and a default. A default that is not among the values is reported and kept. */
function readChoice(
  parts: Parts,
  node: Node,
  given: { readonly initial: Node | undefined; readonly values: Node | undefined },
  scope: string,
  reporter: Reporter,
): Input | undefined {
  const { initial, values } = given;
  if (initial === undefined) reportMissing(spotOf(scope, node), "default", reporter);
  if (values === undefined) reportMissing(spotOf(scope, node), "values", reporter);
  if (values !== undefined && values.kind !== "list")
    reporter.error(spotOf(below(scope, "values"), values), "type", `expected list of texts, found ${kindOf(values)}`);
  const chosen = initial && scalarAt(initial, below(scope, "default"), reporter);
  if (chosen === undefined || values?.kind !== "list") return undefined;
  const texts = values.items.flatMap(
    (item, index) => scalarAt(item, `${below(scope, "values")}[${index}]`, reporter)?.text ?? [],
  );
  if (!texts.includes(chosen.text)) {
    const message = `expected one of the values ${texts.map((text) => JSON.stringify(text)).join(", ")}, found ${JSON.stringify(chosen.text)}`;
    reporter.error(spotOf(below(scope, "default"), chosen), "choice-value", message);
  }
  return { ...parts, initial: textNode(chosen.text, chosen), values: texts };
}
