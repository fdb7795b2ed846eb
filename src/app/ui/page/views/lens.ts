import type { RunModel } from "../data/run.ts";

/** What each view of a run's steps is given: all share one selection. */
export interface LensProps {
  readonly model: RunModel;
  readonly selected: string | undefined;
  readonly select: (id: string | undefined) => void;
}
