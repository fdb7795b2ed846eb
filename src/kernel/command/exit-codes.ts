import type { RunView } from "#engine/index.ts";
import { codeOf } from "#lib/base/index.ts";

/**
 * How a command ended, for scripts. Signals end with 129, 130 and 143, a reader that went away with 141, and `up` with 5 when its
 * disk broke. `corrupt` is of `up` and `store`, which have no deadline to confuse it with.
 */
export const exitCode = { succeeded: 0, failed: 1, usage: 2, canceled: 3, deadline: 4, corrupt: 4 } as const;

/**
 * The exit code of a run that has ended: 0, 3 for a cancel by anybody, 4 for its deadline, 1 for every other failure.
 */
export function codeOfRun({ phase, reason }: Pick<RunView, "phase" | "reason">): number {
  if (phase === "Succeeded") return exitCode.succeeded;
  if (phase === "Canceled") return exitCode.canceled;
  return reason === "DeadlineExceeded" ? exitCode.deadline : exitCode.failed;
}

/** The exit code for what a command threw, after it was told. */
export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof Exit) return thrown.code;
  if (thrown instanceof UsageError) return exitCode.usage;
  const code = codeOf(thrown);
  return code === "store-corrupt" || code === "store-format" ? exitCode.corrupt : exitCode.failed;
}

/**
 * A command's refusal of its arguments or documents: printed as it is, then the hint on a line of its own; ends with
 * `exitCode.usage`.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Ends the command with a code after everything that a person should read was printed. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}
