import { codeOf, messageOf } from "#lib/base/index.ts";
import { createReporter, type Diagnostic } from "../definition/diagnostics.ts";
import { maxBytes, textOf } from "../definition/text.ts";
import { gitVariables } from "../variables/git-variables.ts";
import { processVariables } from "../variables/sources.ts";
import type { Variable } from "../variables/variable.ts";
import { readVariableFile, variableFilePaths, type VariableFilePlaces } from "../variables/variable-file.ts";
import { readStart } from "./definition-file.ts";
import { askGit } from "./git.ts";

// Read once, before the definition: a build that is under way keeps its variables, whatever happens to the files.

/** Where a build is started, as far as it decides what variables there are. */
export interface World extends VariableFilePlaces {
  /** All variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** Variables of the world around a definition, and what is wrong with where they come from. */
export interface Surroundings {
  readonly variables: readonly Variable[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the environment, all files with variables and Git. What is not there is no variable; what cannot be read is told. */
export async function observeSurroundings(world: World): Promise<Surroundings> {
  const [files, git] = await Promise.all([
    Promise.all(variableFilePaths(world).map(readFile)),
    askGit(world.projectDirectory, world.environment, world.signal),
  ]);
  const reporter = createReporter(world.projectDirectory);
  if (!git.ok) {
    const hint = "variables such as GIT_BRANCH and REPO_NAME are not set";
    reporter.warn({ scope: "" }, "no-git", `Git says nothing of the project: ${git.error}`, { hint });
  }
  return {
    variables: [
      ...processVariables(world.environment),
      ...files.flatMap(({ variables }) => variables),
      ...(git.ok ? gitVariables(git.value) : []),
    ],
    diagnostics: [...files.flatMap(({ diagnostics }) => diagnostics), ...reporter.diagnostics()],
  };
}

/** One file with variables; one that is not there has none. One that cannot be read is worth a warning: its user expects it to be read. */
async function readFile(path: string): Promise<Surroundings> {
  const reporter = createReporter(path);
  try {
    const text = textOf(await readStart(path, maxBytes + 1), reporter);
    const variables = text === undefined ? [] : readVariableFile(text, path, reporter);
    return { variables, diagnostics: reporter.diagnostics() };
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT" && codeOf(thrown) !== "ENOTDIR")
      reporter.warn({ scope: "" }, "unreadable-file", `cannot read ${path}: ${messageOf(thrown)}`);
    return { variables: [], diagnostics: reporter.diagnostics() };
  }
}
