/** A place in a text file. `line` and `column` count from 1; `column` counts UTF-16 code units. */
export interface Position {
  /** As the user named it; absent for standard input and texts that come from no file. */
  readonly file?: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Something wrong with a user's document. Problems are values: functions that read input return all of them at once.
 * `code` is kebab-case and stable; `path` is the field path in Kubernetes notation (`spec.steps.build.dependencies[0]`);
 * `message` starts in lower case, has no full stop, and says what was expected and what was found.
 */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly path: string;
  /** Absent when the document did not come from a text, or nothing in the text stands for the path. */
  readonly position?: Position;
  /** What to do about it: `did you mean "build"?`. */
  readonly hint?: string;
}

/** Whether any problem forbids using the document; warnings do not. */
export const hasErrors = (problems: readonly Problem[]): boolean => problems.some((p) => p.severity === "error");

/** `file:line:column: error: path: message (hint)`, leaving out what is unknown. */
export function formatProblem(problem: Problem): string {
  const { position } = problem;
  const place = position ? `${position.file ?? "-"}:${position.line}:${position.column}: ` : "";
  const path = problem.path === "" ? "" : `${problem.path}: `;
  const hint = problem.hint === undefined ? "" : ` (${problem.hint})`;
  return `${place}${problem.severity}: ${path}${problem.message}${hint}`;
}
