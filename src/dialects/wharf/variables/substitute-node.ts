// Variables are substituted in nodes, before anybody knows what a field is for: every text below a stage is substituted, and keeps the place
// where it is written. What was substituted is marked, because literals are read more strictly than what a variable happens to hold.

import { nearest } from "#lib/text/index.ts";
import { below, type Reporter, type Spot } from "../definition/diagnostics.ts";
import type { Member, Node, Place, ScalarNode } from "../definition/node.ts";
import { asText } from "../definition/scalar.ts";
import { isFailure, reportFailure, type Substituter } from "./substitute.ts";

export interface SubstituteOptions {
  readonly substituter: Substituter;
  readonly reporter: Reporter;
  /** Unknown names are errors. */
  readonly isStrict?: boolean;
  /** The names there are, for suggestions. */
  readonly names: Iterable<string>;
  /** Told of each name that nobody has set, once for each text it stands in. */
  readonly onUnknown?: (name: string, spot: Spot) => void;
}

/** A node with the variables of all its texts; keys are left as they are. What cannot be substituted is reported and left as written. */
export function substituteNode(node: Node, scope: string, options: SubstituteOptions): Node {
  switch (node.kind) {
    case "scalar":
      return substituteScalar(node, { scope, at: node.at }, options);
    case "list":
      return { ...node, items: node.items.map((item, index) => substituteNode(item, `${scope}[${index}]`, options)) };
    case "map":
      return {
        ...node,
        members: node.members.map((member) => ({
          ...member,
          value: substituteNode(member.value, below(scope, member.name), options),
        })),
      };
  }
}

/** A stage: the names of its steps are texts like all others; of steps that are named alike then the first one stays. */
export function substituteStage(node: Node, scope: string, options: SubstituteOptions): Node {
  if (node.kind !== "map") return substituteNode(node, scope, options);
  const members = new Map<string, Member>();
  for (const { name: written, at, value } of node.members) {
    const place = below(scope, written);
    const { text: name, madeOf = [] } = substituteScalar(keyNode(written, at), { scope: place, at }, options);
    const first = members.get(name);
    if (first === undefined) members.set(name, { name, at, value: substituteNode(value, below(scope, name), options) });
    else {
      const related = [{ message: "it was given here", place: first.at }];
      const message = `the key ${JSON.stringify(name)} is given more than once; this one is ignored`;
      options.reporter.error({ scope: place, at, madeOf }, "key-duplicate", message, { related });
    }
  }
  return { ...node, members: [...members.values()] };
}

/** The name of a step as the text that it is. */
const keyNode = (name: string, at: Place): ScalarNode => ({ kind: "scalar", ...asText(name), at });

/** A scalar with its variables. What is a number or a boolean has none. */
function substituteScalar(node: ScalarNode, spot: Spot, options: SubstituteOptions): ScalarNode {
  if (node.tag !== "string" || !node.text.includes("${")) return node;
  const result = options.substituter.substitute(node.text);
  if (isFailure(result)) {
    reportFailure(result, spot, options.reporter);
    return node;
  }
  for (const name of result.unknown) {
    options.onUnknown?.(name, spot);
    if (options.isStrict === true) reportUnknown(name, spot, options);
  }
  if (result.used.size === 0) return { ...node, ...result.scalar };
  const madeOf = [...result.used].flatMap(({ definedAt }) => (definedAt === undefined ? [] : [definedAt]));
  return { ...node, ...result.scalar, madeOf };
}

/** Says that nobody has set a variable, which is otherwise left for a shell to expand. */
function reportUnknown(name: string, spot: Spot, { reporter, names }: SubstituteOptions): void {
  const meant = nearest(name, names);
  const hint = meant === undefined ? undefined : `did you mean "${meant}"?`;
  reporter.error(spot, "var-unknown", `no variable is named ${JSON.stringify(name)}`, { hint });
}
