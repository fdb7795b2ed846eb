import type { Millis } from "#lib/base/index.ts";
import type { Ending, Execution } from "./work.ts";

/** Everything is ready for the start, or will never be. */
export type Prepared =
  | { readonly is: "prepared"; readonly handle: string }
  | Extract<Ending, { readonly is: "failed" }>;

/**
 * Where actions run, each in a life of its own that does not end with the agent's. Rejections are the world's trouble and may pass:
 * who calls tries again. What is wrong with an action is its ending.
 *
 * Starting in two steps is what keeps an action from running twice: an agent that has noted no handle has started nothing.
 */
export interface ActionRuntime {
  /** Fetches and makes what is needed and starts nothing. What an earlier try of the same execution has left is taken or replaced. */
  prepare(execution: Execution, signal: AbortSignal): Promise<Prepared>;
  /** Starts it unless it was started, and resolves when it has ended. For an ended one again with how it has. */
  run(execution: Execution, handle: string): Promise<Ending>;
  /** Nothing is known of it but that it was prepared once, or it is not known any more how it has ended. */
  isGone(execution: Execution, handle: string): Promise<boolean>;
  /**
   * Asks it to end (TERM), and ends it (KILL) when the grace is over. Resolves when nothing of it runs, and nothing of it will be started;
   * at once for one that is unknown.
   */
  stop(execution: Execution, grace: Millis): Promise<void>;
  /** Removes its traces but for its log. Unknown ones are no error. */
  discard(execution: Execution): Promise<void>;
  /** The same for all that are this agent's but one, also of earlier processes; what runs is ended. */
  sweep(keep: Execution | undefined): Promise<void>;
}
