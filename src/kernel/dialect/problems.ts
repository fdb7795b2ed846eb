import { type FieldPath, formatFieldPath, type Position, type Problem } from "#lib/base/index.ts";

/** Reports a finding at `path` (`["spec", "steps", "a"]`). `code` is listed in docs/reference/problems.md. */
export type Report = (path: FieldPath, code: string, message: string, hint?: string) => void;

export interface ProblemCollector {
  /** Grows while findings are reported. */
  readonly problems: readonly Problem[];
  readonly error: Report;
  readonly warn: Report;
}

/** Further problems of a document are only counted: finding positions is costly. */
export const mostProblems = 1_000;

/** Without `positionOf` problems have only their path. */
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
