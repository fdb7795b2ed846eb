import { join } from "node:path";
import { workDirectory } from "../results/results.ts";

/** Where a step that runs as a process works, and leaves what is to be kept. Both are gone after the build unless they were asked for. */
export function stepWorkspace(resultsDirectory: string, stepId: number) {
  const directory = join(workDirectory(resultsDirectory), `${stepId}`);
  return { repository: join(directory, "repo"), artifacts: join(directory, "artifacts") };
}
