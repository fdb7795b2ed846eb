// Every text below a stage is substituted before its fields are read. Substituted nodes are marked, because literals
// are read more strictly.

import { nearest } from "#lib/text/index.ts";
import { below, type Reporter, type Spot } from "../definition/diagnostics.ts";
import type { Member, Node, Place, ScalarNode } from "../definition/node.ts";
import { asText } from "../definition/scalar.ts";
import { isFailure, reportFailure, type Substituter } from "./substitute.ts";

export interface SubstituteOptions {
  readonly substituter: Substituter;
  readonly reporter: Reporter;
  readonly isStrict?: boolean;
  readonly names: Iterable<string>;
  readonly onUnknown?: (name: string, spot: Spot) => void;
}

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

/** Names of steps are substituted too; of duplicate names the first one is kept. */
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

const keyNode = (name: string, at: Place): ScalarNode => ({ kind: "scalar", ...asText(name), at });

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

function reportUnknown(name: string, spot: Spot, { reporter, names }: SubstituteOptions): void {
  const meant = nearest(name, names);
  const hint = meant === undefined ? undefined : `did you mean "${meant}"?`;
  reporter.error(spot, "var-unknown", `no variable is named ${JSON.stringify(name)}`, { hint });
}
