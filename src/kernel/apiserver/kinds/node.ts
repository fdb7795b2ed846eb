import { isTrueAt } from "#lib/base/index.ts";
import { Node } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { nodeTable } from "../tables/node.ts";
import type { BuiltIn } from "./built-in.ts";

/**
 * Machines. The runner of Pods writes the one there is; others may be stored by anybody, and no Pod will ever be given to them. Pods
 * are bound by the runner, so `unschedulable` and taints are kept without effect.
 */
export const nodeKind: BuiltIn = {
  type: Node,
  definition: definitionNames.node,
  table: nodeTable,
  subresources: ["status"],
  createsWithStatus: true,
  fields: { "spec.unschedulable": (node) => String(isTrueAt(node, "spec", "unschedulable")) },
};
