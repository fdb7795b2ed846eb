import type { StepPlan } from "../plan/step-plan.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";
import { type Glob, parseGlob } from "./glob.ts";

export interface LeftFiles {
  readonly artifacts: AsyncIterable<ArtifactSource>;
  readonly project: () => AsyncIterable<ArtifactSource>;
}

interface Wanted {
  readonly called: string;
  readonly isTestResults: boolean;
  readonly glob: Glob | undefined;
  isFound: boolean;
}

/** Artifacts of a step: its artifacts directory, where `*.trx` are test results, and project files that match its
 * globs, without `.git`. A file that matches both kinds is kept once, as test results. Globs without a match are
 * reported at the end. */
export async function* chosenArtifacts(
  { artifacts, testResults }: Pick<StepPlan, "artifacts" | "testResults">,
  left: LeftFiles,
  onWarning: (message: string) => void,
): AsyncGenerator<ArtifactSource, void> {
  for await (const source of left.artifacts)
    yield /\.trx$/i.test(source.name) ? { ...source, testResults: true } : source;
  const wanted = [...wantedOf("testResults", testResults), ...wantedOf("artifacts", artifacts)];
  if (wanted.length === 0) return;
  for await (const source of left.project()) {
    const found = isGits(source.name) ? [] : wanted.filter(({ glob }) => glob?.(source.name) === true);
    for (const one of found) one.isFound = true;
    if (found.length > 0)
      yield found.some(({ isTestResults }) => isTestResults) ? { ...source, testResults: true } : source;
  }
  for (const { called, glob, isFound } of wanted)
    if (glob === undefined) onWarning(`${called} leads out of the repository, or has too many alternatives`);
    else if (!isFound) onWarning(`${called} matches no file`);
}

const wantedOf = (field: "artifacts" | "testResults", globs: readonly string[]): readonly Wanted[] =>
  globs.map((text, index) => ({
    called: `${field}[${index}] ${JSON.stringify(text)}`,
    isTestResults: field === "testResults",
    glob: parseGlob(text),
    isFound: false,
  }));

const isGits = (name: string): boolean => name.split("/").includes(".git");
