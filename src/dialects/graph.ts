import type { RunView, StepPhase } from "#engine/index.ts";

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  /** Part of the final steps. */
  readonly final: boolean;
  /** Layer: longest path from a root. */
  readonly rank: number;
  readonly phase: StepPhase;
}

/** The steps of a run in topological order, and which comes before which. */
export interface RunGraph {
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  /** `from` comes before `to`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

/** The graph any view shows. */
export const graphOfView = (view: RunView): RunGraph => ({
  name: view.name,
  nodes: view.steps.map(({ id, name, final = false, rank, phase }) => ({ id, name, final, rank, phase })),
  edges: view.steps.flatMap((step) => step.dependencies.map((from) => ({ from, to: step.id }))),
});
