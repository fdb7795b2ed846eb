/** `line` and `column` count from 1; `column` counts UTF-16 code units. */
export interface Position {
  /** As the user named it; absent for standard input and texts not from files. */
  readonly file?: string;
  readonly line: number;
  readonly column: number;
}

/**
 * An error or warning in a user's document. Readers return all problems at once. `code` is kebab-case and stable;
 * `path` is the field path in Kubernetes notation; `message` starts in lower case, has no full stop, and names what was
 * expected and found.
 */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly path: string;
  /** Absent if unknown. */
  readonly position?: Position;
  /** What to do about it: `did you mean "build"?`. */
  readonly hint?: string;
}

export const hasErrors = (problems: readonly Problem[]): boolean => problems.some((p) => p.severity === "error");

/** `file:line:column: error: path: message (hint)`, without unknown parts. */
export function formatProblem(problem: Problem): string {
  const { position } = problem;
  const place = position ? `${position.file ?? "-"}:${position.line}:${position.column}: ` : "";
  const path = problem.path === "" ? "" : `${problem.path}: `;
  const hint = problem.hint === undefined ? "" : ` (${problem.hint})`;
  return `${place}${problem.severity}: ${path}${problem.message}${hint}`;
}
