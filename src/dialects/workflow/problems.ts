import type { Position, Problem } from "#lib/base/index.ts";

/** Where in a document something is: member names and list indexes. */
export type FieldPath = readonly (string | number)[];

/** Takes one finding. `hint` says what to do about it. */
export type Report = (path: FieldPath, code: string, message: string, hint?: string) => void;

const plainMember = /^[A-Za-z0-9_$-]+$/;

/** Kubernetes notation: `spec.steps.two.dependencies[0]`; members that are no plain words stand in brackets. */
export function formatPath(path: FieldPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number" || !plainMember.test(part)) text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

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
        path: formatPath(path),
        ...(position === undefined ? {} : { position }),
        ...(hint === undefined ? {} : { hint }),
      });
    };
  return { problems, error: reporter("error"), warn: reporter("warning") };
}
