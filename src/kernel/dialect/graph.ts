import { type RunView, type StepPhase, summarizeItems } from "#engine/index.ts";

/** What a dialect knows of a step besides its place in the order, each in words that people read and nobody parses. */
export interface StepTraits {
  /** The condition it runs on, as written. */
  readonly condition?: string;
  /** What it has one child each for: `5 items, 2 at once`. */
  readonly forEach?: string;
  /** Artifacts it takes, as `build/dist`, and those it leaves. */
  readonly takes?: string;
  readonly leaves?: string;
  /** What ends its loop: `until result.ready, at most 10 rounds`. */
  readonly repeat?: string;
  /** For how long an earlier result may stand for its own: `up to 1h old`. */
  readonly cache?: string;
  /** What it holds while it is under way: `db, api`. */
  readonly locks?: string;
}

export interface GraphNode extends StepTraits {
  readonly id: string;
  readonly name: string;
  /** Part of the final steps. */
  readonly final: boolean;
  /** Layer: longest path from a root. */
  readonly rank: number;
  readonly phase: StepPhase;
  /** How far the items of a fan-out are that has started. */
  readonly items?: string;
}

/** The steps of a run in topological order, and which comes before which. */
export interface RunGraph {
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  /** `from` comes before `to`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

const noTraits: StepTraits = {};

/** The graph any view shows; `traitsOf` tells by the id of a step what its dialect knows of it. */
export const graphOfView = (view: RunView, traitsOf: (id: string) => StepTraits = () => noTraits): RunGraph => ({
  name: view.name,
  nodes: view.steps.map(({ id, name, final = false, rank, phase, items }) => ({
    id,
    name,
    final,
    rank,
    phase,
    ...traitsOf(id),
    ...(items === undefined ? {} : { items: summarizeItems(items) }),
  })),
  edges: view.steps.flatMap((step) => step.dependencies.map((from) => ({ from, to: step.id }))),
});
