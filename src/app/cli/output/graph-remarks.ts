import { oneLine } from "#lib/base/index.ts";
import type { GraphNode, RunGraph } from "#kernel/dialect/index.ts";

/** Whether the run has started; other graphs are drawn without phases. */
export const isUnderWay = ({ nodes }: RunGraph): boolean => nodes.some(({ phase }) => phase !== "Pending");

/** What every drawing shows of a step besides its name, one line each, in the order in which a start checks it. */
export const remarksOf = ({
  condition,
  forEach,
  repeat,
  cache,
  locks,
  takes,
  leaves,
  items,
}: GraphNode): readonly string[] => [
  ...(condition === undefined ? [] : [`if ${oneLine(condition)}`]),
  ...(forEach === undefined ? [] : [`for each of ${forEach}`]),
  ...(repeat === undefined ? [] : [`repeat ${repeat}`]),
  ...(cache === undefined ? [] : [`unless there is a result ${cache}`]),
  ...(locks === undefined ? [] : [`locks ${locks}`]),
  ...(takes === undefined ? [] : [`takes ${takes}`]),
  ...(leaves === undefined ? [] : [`leaves ${leaves}`]),
  ...(items === undefined ? [] : [items]),
];
