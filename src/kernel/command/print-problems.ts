import { formatProblem, hasErrors, type Problem } from "#lib/base/index.ts";
import type { Output } from "./environment.ts";

/** Prints one line per problem; true if one is an error. */
export function printProblems(problems: readonly Problem[], output: Output): boolean {
  for (const problem of problems) output.write(`${formatProblem(problem)}\n`);
  return hasErrors(problems);
}
