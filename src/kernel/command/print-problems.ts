import { formatProblem, hasErrors, type Problem } from "#lib/base/index.ts";
import type { Output } from "./environment.ts";

/** Prints every problem, one line each, in the order given; true when one of them is an error. */
export function printProblems(problems: readonly Problem[], output: Output): boolean {
  for (const problem of problems) output.write(`${formatProblem(problem)}\n`);
  return hasErrors(problems);
}
