// The first half of reading: what decides which variables there are. The other half is `stages.ts`, once they are known.

import type { Input, Environment } from "./definition.ts";
import type { Reporter } from "./diagnostics.ts";
import { readEnvironments } from "./environments.ts";
import { readInputs } from "./inputs.ts";
import { kindOf, memberOf, type MapNode, type Member } from "./node.ts";
import { readNodes } from "./read-nodes.ts";

/** What a definition says before its variables are known. */
export interface Outline {
  /** For places, and for printing it again. */
  readonly root: MapNode;
  readonly inputs: readonly Input[];
  /** By name; values may refer to other variables. */
  readonly environments: ReadonlyMap<string, Environment>;
  /** Every other key of the file, unread. */
  readonly stages: readonly Member[];
}

/** Keys that are no stages. Every other key of the file is one, whatever it is called. */
export const reservedKeys: readonly string[] = ["inputs", "environments"];

/** Undefined when the text is no definition at all; everything that is wrong is reported. */
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
