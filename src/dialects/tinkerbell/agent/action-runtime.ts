import type { Millis } from "#lib/base/index.ts";
import type { Ending, Execution } from "./work.ts";

export type Prepared =
  | { readonly is: "prepared"; readonly handle: string }
  | Extract<Ending, { readonly is: "failed" }>;

/** Runs actions, which outlive the agent. Rejections are temporary; without a noted handle nothing was started. */
export interface ActionRuntime {
  /** Pulls and creates what is needed and starts nothing. Reuses or replaces leftovers of an earlier try. */
  prepare(execution: Execution, signal: AbortSignal): Promise<Prepared>;
  /** Starts the action unless it was started, and resolves when it has ended, also if it ended before. */
  run(execution: Execution, handle: string): Promise<Ending>;
  /** True if it was never started, or its result is no longer known. */
  isGone(execution: Execution, handle: string): Promise<boolean>;
  /** Sends TERM, then KILL after the grace. Resolves when nothing runs or will start; at once if unknown. */
  stop(execution: Execution, grace: Millis): Promise<void>;
  /** Removes everything but the log. Unknown executions are no error. */
  discard(execution: Execution): Promise<void>;
  /** Stops and removes all executions of this agent but one, including those of earlier processes. */
  sweep(keep: Execution | undefined): Promise<void>;
}
