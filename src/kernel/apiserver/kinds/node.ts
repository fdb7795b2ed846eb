import { isTrueAt } from "#lib/base/index.ts";
import { Node } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { nodeTable } from "../tables/node.ts";
import type { BuiltIn } from "./built-in.ts";

/** The Pod runner writes one Node; others are stored and get no Pods. `unschedulable` and taints have no effect. */
export const nodeKind: BuiltIn = {
  type: Node,
  definition: definitionNames.node,
  table: nodeTable,
  subresources: ["status"],
  createsWithStatus: true,
  fields: { "spec.unschedulable": (node) => String(isTrueAt(node, "spec", "unschedulable")) },
};
