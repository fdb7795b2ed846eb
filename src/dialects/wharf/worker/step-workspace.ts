import { join } from "node:path";
import { workDirectory } from "../results/results.ts";

/** Directories of a step that runs as a process; removed after the build unless kept. */
export function stepWorkspace(resultsDirectory: string, stepId: number) {
  const directory = join(workDirectory(resultsDirectory), `${stepId}`);
  return { repository: join(directory, "repo"), artifacts: join(directory, "artifacts") };
}
