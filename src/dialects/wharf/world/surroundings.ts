import { stat } from "node:fs/promises";
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
  /** Git is asked only when something could depend on what it says: seven programs cost more than many a build. */
  readonly sparesGit?: boolean;
}

/** Variables of the world around a definition, and what is wrong with where they come from. */
export interface Surroundings {
  readonly variables: readonly Variable[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads the environment, all files with variables and Git. What is not there is no variable; what cannot be read is told. `texts` are what a build
 * is made of besides: they decide, with the variables, whether Git is asked where it is to be spared.
 */
export async function observeSurroundings(world: World, texts: readonly string[] = []): Promise<Surroundings> {
  const { sparesGit = false, projectDirectory, environment, signal } = world;
  const ask = () => askGit(projectDirectory, environment, signal);
  const asked = sparesGit ? undefined : ask();
  const trusted = await trustedOwners(projectDirectory);
  const files = await Promise.all(variableFilePaths(world).map((path) => readFile(path, trusted)));
  const variables = [...processVariables(environment), ...files.flatMap((file) => file.variables)];
  const diagnostics = files.flatMap((file) => file.diagnostics);
  if (asked === undefined && ![...texts, ...variables.map(({ text }) => text)].some(mayNeedGit))
    return { variables, diagnostics };
  const git = await (asked ?? ask());
  if (git.ok) return { variables: [...variables, ...gitVariables(git.value)], diagnostics };
  const reporter = createReporter(projectDirectory);
  const hint = "variables such as GIT_BRANCH and REPO_NAME are not set";
  reporter.warn({ scope: "" }, "no-git", `Git says nothing of the project: ${git.error}`, { hint });
  return { variables, diagnostics: [...diagnostics, ...reporter.diagnostics()] };
}

/** Whether a text could name a variable that Git has, or a step whose defaults or files do; escapes of YAML may hide either. */
const mayNeedGit = (text: string): boolean => /GIT_|REPO_|docker|helm|kubectl|\\/.test(text);

/** Users whose variable files count: this one, root, and whoever owns the project. Others can write to some directories above it, such as `/tmp`. */
async function trustedOwners(projectDirectory: string): Promise<ReadonlySet<number>> {
  const owner = (await stat(projectDirectory).catch(() => undefined))?.uid;
  return new Set([0, process.getuid?.() ?? 0, owner ?? 0]);
}

/** One file with variables; one that is not there has none. One that cannot be read is worth a warning: its user expects it to be read. */
async function readFile(path: string, trusted: ReadonlySet<number>): Promise<Surroundings> {
  const reporter = createReporter(path);
  try {
    if (!trusted.has((await stat(path)).uid)) {
      reporter.warn({ scope: "" }, "foreign-file", `${path} belongs to another user and is ignored`);
      return { variables: [], diagnostics: reporter.diagnostics() };
    }
    const text = textOf(await readStart(path, maxBytes + 1), reporter);
    const variables = text === undefined ? [] : readVariableFile(text, path, reporter);
    return { variables, diagnostics: reporter.diagnostics() };
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT" && codeOf(thrown) !== "ENOTDIR")
      reporter.warn({ scope: "" }, "unreadable-file", `cannot read ${path}: ${messageOf(thrown)}`);
    return { variables: [], diagnostics: reporter.diagnostics() };
  }
}
