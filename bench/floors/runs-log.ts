import { type Commit, floorSteps, playRuns, type RunLoad } from "./runs.ts";
import type { RunKind } from "../ours/workflows.ts";

// Floor of a durable run: the start, the result of every step and the end, each on disk before what follows. No object, no
// graph, nothing to be read.

/** About as large as the status of a step with its envelope. */
const padding = "x".repeat(600);

export const run = (load: RunLoad) => playRuns(play, load);

async function play(id: number, kind: RunKind, commit: Commit, effect: () => void): Promise<void> {
  const step = async (_: unknown, index: number): Promise<void> => {
    effect();
    await commit({ id, type: "step", index, padding });
  };
  await commit({ id, type: "start", padding });
  const steps = Array.from({ length: floorSteps(kind) });
  if (kind === "fan") await Promise.all(steps.map(step));
  else for (const [index] of steps.entries()) await step(undefined, index);
  await commit({ id, type: "end", padding });
}
