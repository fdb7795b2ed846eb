import type { Instant, Millis } from "#lib/base/index.ts";

// The state that all rules work on, in the words of v1alpha2. Stored is the status of the document's shape.

/** `A` as released, `B` v1alpha2, `C` the draft with tasks, which is only stored. */
export type Shape = "A" | "B" | "C";

/** Empty: not prepared. */
export type Phase =
  | ""
  | "Preparing"
  | "Pending"
  | "Scheduled"
  | "Running"
  | "Post"
  | "Cancelling"
  | "Canceled"
  | "Succeeded"
  | "Failed";

export type ActionPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** The command stream or one of the two older protocols. */
export type Protocol = "stream" | "poll" | "worker";

/** A snapshot of a rendered action: later changes of template and hardware have no effect. */
export interface RenderedAction {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly cmd?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  /** PID and network namespace; absent means the container's own. */
  readonly pid?: string;
  readonly network?: string;
  /** 0 is none. */
  readonly timeout: Millis;
  /** Without tasks in a document, all actions have one without a name. */
  readonly task: Task;
}

/** Actions of a task are for one agent. */
export interface Task {
  readonly id: string;
  readonly name: string;
  readonly agentID: string;
}

/** An action and its progress. Instants are the server's, not the agent's. */
export interface Action extends RenderedAction {
  readonly phase: ActionPhase;
  readonly attempts: number;
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
  readonly reason?: string;
  readonly message?: string;
}

export interface Rejection {
  readonly reason?: string;
  readonly message: string;
  readonly at: Instant;
}

export interface Dispatch {
  readonly agentID?: string;
  readonly instance?: string;
  readonly protocol?: Protocol;
  /** The agent may still be busy with this workflow, even if it has ended. */
  readonly held: boolean;
  readonly attempt: number;
  readonly at?: Instant;
  /** Consecutive. */
  readonly rejections: number;
  readonly notBefore?: Instant;
  readonly lastRejection?: Rejection;
  /** The interrupted action: its next start is another attempt. */
  readonly rerun?: string;
}

/** Who asked for the end, and when the agent must have confirmed it. */
export interface Cancelling {
  readonly requestedAt: Instant;
  readonly by: "Delete" | "User" | "CLI";
  readonly deadline: Instant;
}

/** Instants at which something happens unless a change comes first. */
export interface Deadlines {
  /** The agent must have started by then. */
  readonly scheduled?: Instant;
  readonly workflow?: Instant;
  readonly action?: Instant;
  /** The agent counts as free then. */
  readonly held?: Instant;
  /** The disconnected agent must be back by then. */
  readonly agent?: Instant;
}

/** Plain data, never edited in place. */
export interface WorkflowState {
  readonly shape: Shape;
  readonly phase: Phase;
  readonly agentID: string;
  /** Other agents that may take it first: a machine boots from one of several interfaces. */
  readonly otherAgentIDs?: readonly string[];
  readonly actions: readonly Action[];
  /** For the whole workflow, from its first action; 0 is none. */
  readonly timeout: Millis;
  readonly startedAt?: Instant;
  readonly reason?: string;
  readonly message?: string;
  readonly dispatch: Dispatch;
  readonly cancel?: Cancelling;
  readonly deadlines: Deadlines;
}

export const agentsOf = ({ agentID, otherAgentIDs = [] }: WorkflowState): readonly string[] =>
  agentID === "" ? [] : [agentID, ...otherAgentIDs];

/** Final, except that its agent is released. */
export const isTerminal = (phase: Phase): boolean =>
  phase === "Canceled" || phase === "Succeeded" || phase === "Failed";

const isFinished = ({ phase }: Action): boolean => phase === "Succeeded" || phase === "Failed";

/** Index of the first unfinished action; the number of actions if there is none. */
export function currentIndex({ actions }: Pick<WorkflowState, "actions">): number {
  const at = actions.findIndex((action) => !isFinished(action));
  return at < 0 ? actions.length : at;
}

export function segmentOf(state: Pick<WorkflowState, "actions">): readonly Action[] {
  const rest = state.actions.slice(currentIndex(state));
  const agentID = rest[0]?.task.agentID;
  const end = rest.findIndex(({ task }) => task.agentID !== agentID);
  return end < 0 ? rest : rest.slice(0, end);
}

export const awaitsDispatch = (state: WorkflowState): boolean => {
  if (state.dispatch.held) return false;
  if (state.phase === "Pending") return true;
  return state.phase === "Running" && state.actions[currentIndex(state)]?.phase === "Pending";
};

/** Step names of actions, by id; names that are not unique include the task. */
export function stepIds(actions: readonly RenderedAction[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of actions) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(actions.map(({ id, name, task }) => [id, counts.get(name) === 1 ? name : `${task.name}/${name}`]));
}

export const withAction = (actions: readonly Action[], changed: Action): readonly Action[] =>
  actions.map((action) => (action.id === changed.id ? changed : action));

const macs = /^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i;

/** The same text, or the same MAC address in another spelling. */
export function isSameAgent(a: string, b: string): boolean {
  return a === b || (a !== "" && agentKey(a) === agentKey(b));
}

/** Equal for ids of one agent. */
export const agentKey = (id: string): string => (macs.test(id) ? id.toLowerCase().replaceAll("-", ":") : id);
