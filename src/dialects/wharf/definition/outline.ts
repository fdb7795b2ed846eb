import type { Input, Environment } from "./definition.ts";
import type { Reporter } from "./diagnostics.ts";
import { readEnvironments } from "./environments.ts";
import { readInputs } from "./inputs.ts";
import { kindOf, memberOf, type MapNode, type Member } from "./node.ts";
import { readNodes } from "./read-nodes.ts";

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
