import { type FieldPath, formatFieldPath, type Position, type Problem } from "#lib/base/index.ts";

/**
 * Takes one finding about the value at `path` (`["spec", "steps", "a"]`). `code` is kebab-case and one of those listed in
 * docs/reference/problems.md; `message` says what was expected and what was found; `hint` says what to do about it.
 */
export type Report = (path: FieldPath, code: string, message: string, hint?: string) => void;

/** Collects findings in the order they are made, errors and warnings in one list. */
export interface ProblemCollector {
  /** Grows while findings come in; whoever keeps the list sees what is added later. */
  readonly problems: readonly Problem[];
  readonly error: Report;
  readonly warn: Report;
}

/**
 * Findings kept of one document; what comes after them is counted by one last problem, which is an error as soon as one of
 * those it stands for is. Finding the place of a problem costs as much as its mapping is wide, so that without this bound a
 * document of a megabyte with a mistake in every line would be looked at for minutes.
 */
export const mostProblems = 1_000;

/** `positionOf` finds the place in the file; without it problems carry only their path. */
export function collectProblems(positionOf?: (path: FieldPath) => Position | undefined): ProblemCollector {
  const problems: Problem[] = [];
  let left = 0;
  const reporter =
    (severity: Problem["severity"]): Report =>
    (path, code, message, hint) => {
      if (problems.length >= mostProblems) {
        left += 1;
        const worst = left > 1 && problems.at(-1)?.severity === "error" ? "error" : severity;
        const told = `${left} more problem${left === 1 ? " is" : "s are"} not shown`;
        problems[mostProblems] = { severity: worst, code: "more-problems", message: told, path: "" };
        return;
      }
      const position = positionOf?.(path);
      problems.push({
        severity,
        code,
        message,
        path: formatFieldPath(path),
        ...(position === undefined ? {} : { position }),
        ...(hint === undefined ? {} : { hint }),
      });
    };
  return { problems, error: reporter("error"), warn: reporter("warning") };
}
