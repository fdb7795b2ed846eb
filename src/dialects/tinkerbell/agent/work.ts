import type { AgentEvent } from "../events.ts";
import type { RenderedAction } from "../state.ts";

/** An action as sent to an agent. Timeouts are the server's business. */
export type AgentAction = Omit<RenderedAction, "timeout" | "task">;

/** Actions to run in order; after an interruption only the remaining ones. */
export interface AgentWorkflow {
  /** `<namespace>/<name>/<uid>`, opaque except for file names. */
  readonly id: string;
  readonly actions: readonly AgentAction[];
}

/** One attempt of one action, started at most once. */
export interface Execution {
  readonly workflow: string;
  readonly action: AgentAction;
  /** From 1. The next attempt begins only if the result of the one before is unknown. */
  readonly attempt: number;
}

export type Ending =
  | { readonly is: "succeeded" }
  | {
      readonly is: "failed";
      readonly reason: string;
      readonly message: string;
    };

export interface Undelivered {
  readonly seq: number;
  readonly workflow: string;
  readonly event: AgentEvent;
}

export const isSameExecution = (a: Execution, b: Execution): boolean =>
  a.workflow === b.workflow && a.action.id === b.action.id && a.attempt === b.attempt;
