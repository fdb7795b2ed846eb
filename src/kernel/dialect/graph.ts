import { type RunView, type StepPhase, summarizeItems } from "#engine/index.ts";
import type { StartParameter } from "./start-parameter.ts";

/** Traits of a step for people; not parsed. */
export interface StepTraits {
  /** As written. */
  readonly condition?: string;
  /** Fan-out: `5 items, 2 at once`. */
  readonly forEach?: string;
  /** Artifacts: `build/dist`. */
  readonly takes?: string;
  readonly leaves?: string;
  /** `until result.ready, at most 10 rounds`. */
  readonly repeat?: string;
  /** How old a cached result may be: `up to 1h old`. */
  readonly cache?: string;
  /** `db, api`. */
  readonly locks?: string;
  /** Of an approval: values that a person gives along with it. */
  readonly asks?: readonly StartParameter[];
}

export interface GraphNode extends StepTraits {
  readonly id: string;
  readonly name: string;
  /** Part of the final steps. */
  readonly final: boolean;
  /** Longest path from a root. */
  readonly rank: number;
  readonly phase: StepPhase;
  /** Progress of a started fan-out. */
  readonly items?: string;
}

/** The steps of a run in topological order, with their dependencies. */
export interface RunGraph {
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  /** `from` comes before `to`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

const noTraits: StepTraits = {};

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
