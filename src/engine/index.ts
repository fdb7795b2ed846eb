export { type Adjacency, degree, neighbours } from "./adjacency.ts";
export { type Advance, advance, createRunCache, type RunCache } from "./advance.ts";
export * from "./backoff.ts";
export { countApprovals } from "./approvals.ts";
export { type Ancestry, ancestryOf } from "./ancestry.ts";
export { buildPlan, type PlanOptions, planStep } from "./build-plan.ts";
export * from "./completion.ts";
export * from "./conditions.ts";
export { diff, type ItemNote, type Note, type RunNote, type StepChange, type StepNote } from "./diff.ts";
export { effectsOf } from "./effects.ts";
export * from "./facts.ts";
export { type Frontier, frontierOf, settle, takeReady } from "./frontier.ts";
export * from "./gates.ts";
export {
  type ActiveItem,
  activeItems,
  countPhases,
  idleItems,
  type ItemFailure,
  type ItemTry,
  type ItemsState,
  mapRangeValues,
  onlyItemsCameAlive,
  settledItems,
  summarizeItems,
} from "./items.ts";
export {
  buildGraph,
  defaultGraphLimits,
  descendants,
  formatGraphProblem,
  type Graph,
  type GraphLimits,
  type GraphProblem,
  type NodeSpec,
} from "./graph.ts";
export { hashText, unitHash } from "./hash.ts";
export { chain, compareBytes, stages } from "./node-lists.ts";
export * from "./plan.ts";
export { reasons, wordsOf } from "./reasons.ts";
export { reset, type RetrySelection } from "./reset.ts";
export { rollup, type Summary } from "./rollup.ts";
export * from "./run.ts";
export {
  type Simulated,
  type SimulatedAttempt,
  type SimulatedEvent,
  type SimulatedWorld,
  simulate,
  stepKinds,
} from "./simulate.ts";
export { isOk } from "./transitions.ts";
export * from "./values.ts";
export * from "./view.ts";
export { progressOf, runActions, stepActions, viewSteps } from "./view-steps.ts";
