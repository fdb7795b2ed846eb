export * from "./facts.ts";
export {
  type Adjacency,
  ancestors,
  buildGraph,
  defaultGraphLimits,
  descendants,
  formatGraphProblem,
  type Graph,
  type GraphLimits,
  type GraphProblem,
  neighbours,
  type NodeSpec,
} from "./graph.ts";
export { chain, compareBytes, stages } from "./node-lists.ts";
export * from "./plan.ts";
export * from "./run.ts";
export * from "./values.ts";
export * from "./view.ts";
