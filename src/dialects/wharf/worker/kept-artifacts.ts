import { chosenArtifacts, type LeftFiles } from "../artifacts/chosen-artifacts.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";
import type { StepJob } from "./step-runtime.ts";

export const keptArtifacts = ({ step, log }: StepJob, left: LeftFiles): AsyncIterable<ArtifactSource> =>
  chosenArtifacts(step, left, (message) => log.append("slipway", Buffer.from(`[slipway] ${message}\n`)));
