import type { Graph } from "#engine/index.ts";
import type { Workflow } from "../kinds.ts";

/** A workflow each of whose steps depends on all before it, with as many edges as `count` steps can have. */
export function fullWorkflow(count: number): Workflow {
  const keys = Array.from({ length: count }, (_, at) => `s${at}`);
  const steps = keys.map((key, at) => [key, { wait: { seconds: 1 }, dependencies: keys.slice(0, at) }]);
  return {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "full" },
    spec: { steps: Object.fromEntries(steps) },
  };
}

/** Counts the edges of a graph that are read from now on. */
export function countReads({ predecessors: { targets } }: Graph): () => number {
  let read = 0;
  const subarray = targets.subarray.bind(targets);
  targets.subarray = (from, to) => {
    const part = subarray(from, to);
    read += part.length;
    return part;
  };
  return () => read;
}
