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

// Read once before the definition: later changes do not affect a running build.

export interface World extends VariableFilePlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Runs Git only if something can depend on it, because seven processes cost more than many a build. */
  readonly sparesGit?: boolean;
}

export interface Surroundings {
  readonly variables: readonly Variable[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads environment, variable files and Git. `texts` decide, with the variables, whether Git is needed. */
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
  reporter.warn({ scope: "" }, "no-git", `Git cannot read the project: ${git.error}`, { hint });
  return { variables, diagnostics: [...diagnostics, ...reporter.diagnostics()] };
}

/** YAML escapes may hide the names. */
const mayNeedGit = (text: string): boolean => /GIT_|REPO_|docker|helm|kubectl|\\/.test(text);

/** Owners whose variable files are read: this user, root and the project's owner. Others may write to directories
 * above, such as /tmp. */
async function trustedOwners(projectDirectory: string): Promise<ReadonlySet<number>> {
  const owner = (await stat(projectDirectory).catch(() => undefined))?.uid;
  return new Set([0, process.getuid?.() ?? 0, owner ?? 0]);
}

/** A missing file has no variables; an unreadable one is a warning. */
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
