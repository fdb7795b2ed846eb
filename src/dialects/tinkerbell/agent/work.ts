import type { AgentEvent } from "../events.ts";
import type { RenderedAction } from "../state.ts";

/** One action as an agent is told of it. When it has to end is not the agent's business: who supervises tells it to stop. */
export type AgentAction = Omit<RenderedAction, "timeout" | "task">;

/** What an agent is told to carry out: actions, one after the other. After an interruption only those that are left. */
export interface AgentWorkflow {
  /** `<namespace>/<name>/<uid>`, opaque but for the names of files. */
  readonly id: string;
  readonly actions: readonly AgentAction[];
}

/** One carrying out of one action: there is never a second one with the same workflow, action and attempt. */
export interface Execution {
  readonly workflow: string;
  readonly action: AgentAction;
  /** From 1 on; the next one is begun only when nobody knows how the one before has ended. */
  readonly attempt: number;
}

/** How an action has ended: the event that tells it, without the action. */
export type Ending =
  | { readonly is: "succeeded" }
  | {
      readonly is: "failed";
      /** One UpperCamelCase word. */
      readonly reason: string;
      readonly message: string;
    };

/** An event that the server has not acknowledged yet. */
export interface Undelivered {
  /** Tells it apart from every other one of this agent. */
  readonly seq: number;
  readonly workflow: string;
  readonly event: AgentEvent;
}

export const isSameExecution = (a: Execution, b: Execution): boolean =>
  a.workflow === b.workflow && a.action.id === b.action.id && a.attempt === b.attempt;
