import { oneLine } from "#lib/base/index.ts";
import type { GraphNode, RunGraph } from "#kernel/dialect/index.ts";

/** Whether something has happened to the run: a document, or a run that waits for its start, is drawn without phases. */
export const isUnderWay = ({ nodes }: RunGraph): boolean => nodes.some(({ phase }) => phase !== "Pending");

/**
 * What every drawing says of a step beside its name, each remark one line. They are conditions and numbers,
 * in the order in which a start asks for them: whether it is wanted, for what, how often, whether it is needed at all, and what files go in and out.
 */
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
