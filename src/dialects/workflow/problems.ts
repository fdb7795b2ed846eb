import { type FieldPath, formatFieldPath, type Position, type Problem } from "#lib/base/index.ts";

/** Takes one finding. `hint` says what to do about it. */
export type Report = (path: FieldPath, code: string, message: string, hint?: string) => void;

/** Collects findings in the order they are made, errors and warnings in one list. */
export interface ProblemCollector {
  readonly problems: readonly Problem[];
  readonly error: Report;
  readonly warn: Report;
}

/** `positionOf` finds the place in the file; without it problems carry only their path. */
export function collectProblems(positionOf?: (path: FieldPath) => Position | undefined): ProblemCollector {
  const problems: Problem[] = [];
  const reporter =
    (severity: Problem["severity"]): Report =>
    (path, code, message, hint) => {
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
