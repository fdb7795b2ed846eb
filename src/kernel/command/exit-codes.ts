import type { RunView } from "#engine/index.ts";
import { codeOf } from "#lib/base/index.ts";

/**
 * Exit codes. Signals end with 129, 130 and 143, a closed reader with 141, and `up` with 5 for a broken disk. `corrupt`
 * is for `up` and `store`, which have no deadlines.
 */
export const exitCode = { succeeded: 0, failed: 1, usage: 2, canceled: 3, deadline: 4, corrupt: 4 } as const;

/** 0, 3 if canceled, 4 for its deadline, 1 for other failures. */
export function codeOfRun({ phase, reason }: Pick<RunView, "phase" | "reason">): number {
  if (phase === "Succeeded") return exitCode.succeeded;
  if (phase === "Canceled") return exitCode.canceled;
  return reason === "DeadlineExceeded" ? exitCode.deadline : exitCode.failed;
}

export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof Exit) return thrown.code;
  if (thrown instanceof UsageError) return exitCode.usage;
  const code = codeOf(thrown);
  return code === "store-corrupt" || code === "store-format" ? exitCode.corrupt : exitCode.failed;
}

/** Invalid arguments or documents: printed as it is, then the hint on its own line; ends with `exitCode.usage`. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Ends the command with a code after its output. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}
