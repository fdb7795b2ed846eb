import type { Instant, Millis } from "#lib/base/index.ts";

// The picture of a workflow on which all rules work, in the words of v1alpha2. What is stored is the status of the document's own shape:
// `status-v1.ts` and `status-v2.ts` translate, and keep every field that is not mentioned here.

/** How a document is written: `A` as released, `B` of v1alpha2, `C` of the draft with tasks, which is stored only. */
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

/** How an agent speaks: the command stream, or one of the two older protocols. */
export type Protocol = "stream" | "poll" | "worker";

/**
 * One action as it was rendered: what an agent is told. It is a snapshot: templates and hardware may change afterwards, the
 * workflow does not.
 */
export interface RenderedAction {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  /** Takes the place of the image's entrypoint. */
  readonly cmd?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  /** PID and network namespace; absent is the container's own. */
  readonly pid?: string;
  readonly network?: string;
  /** 0 is none. */
  readonly timeout: Millis;
  /** Of the task it belongs to; where documents have no tasks all actions are of one without a name. */
  readonly task: Task;
}

/** Actions of one task are for one agent. */
export interface Task {
  readonly id: string;
  readonly name: string;
  readonly agentID: string;
}

/** An action, and how far it has come. Instants are this side's: what agents tell of time is not relied on. */
export interface Action extends RenderedAction {
  readonly phase: ActionPhase;
  /** How often it was started. */
  readonly attempts: number;
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
  /** Of a failed one. */
  readonly reason?: string;
  readonly message?: string;
}

/** Why an agent has refused a workflow, in its words. */
export interface Rejection {
  readonly reason?: string;
  readonly message: string;
  readonly at: Instant;
}

/** Who was told to carry it out, and what came of that. */
export interface Dispatch {
  readonly agentID?: string;
  /** Which process of the agent. */
  readonly instance?: string;
  readonly protocol?: Protocol;
  /** The agent is not known to be free of this workflow, which may have ended. */
  readonly held: boolean;
  readonly attempt: number;
  readonly at?: Instant;
  /** In a row. */
  readonly rejections: number;
  readonly notBefore?: Instant;
  readonly lastRejection?: Rejection;
  /** Id of the action that was interrupted: its next start is a further attempt. */
  readonly rerun?: string;
}

/** Who has asked for the end, and until when the agent has to confirm it. */
export interface Cancelling {
  readonly requestedAt: Instant;
  readonly by: "Delete" | "User" | "CLI";
  readonly deadline: Instant;
}

/** Instants at which something is done if nothing else happens before. */
export interface Deadlines {
  /** The agent has to have begun by then. */
  readonly scheduled?: Instant;
  readonly workflow?: Instant;
  /** Of the action that runs. */
  readonly action?: Instant;
  /** The agent is taken for free then. */
  readonly held?: Instant;
  /** The agent, whose connection has ended, has to be back by then. */
  readonly agent?: Instant;
}

/** A workflow, whatever its shape. Plain data, never edited in place. */
export interface WorkflowState {
  readonly shape: Shape;
  readonly phase: Phase;
  /** The agent of the task it is at: who may take it. */
  readonly agentID: string;
  /** Who else may take it, until somebody has: a machine of several interfaces starts from one of them. */
  readonly otherAgentIDs?: readonly string[];
  readonly actions: readonly Action[];
  /** For the whole, from its first action on; 0 is none. */
  readonly timeout: Millis;
  readonly startedAt?: Instant;
  readonly reason?: string;
  readonly message?: string;
  readonly dispatch: Dispatch;
  readonly cancel?: Cancelling;
  readonly deadlines: Deadlines;
}

/** All who may take it. */
export const agentsOf = ({ agentID, otherAgentIDs = [] }: WorkflowState): readonly string[] =>
  agentID === "" ? [] : [agentID, ...otherAgentIDs];

/** Such a workflow does not change any more, but for its agent being let go. */
export const isTerminal = (phase: Phase): boolean =>
  phase === "Canceled" || phase === "Succeeded" || phase === "Failed";

/** Its result is recorded. */
const isFinished = ({ phase }: Action): boolean => phase === "Succeeded" || phase === "Failed";

/** Index of the first action that has not ended; their number when all have. */
export function currentIndex({ actions }: Pick<WorkflowState, "actions">): number {
  const at = actions.findIndex((action) => !isFinished(action));
  return at < 0 ? actions.length : at;
}

/**
 * What one agent is told at once: the actions from the first unfinished one on that belong to its agent, up to the first of another one.
 * Empty when all have ended.
 */
export function segmentOf(state: Pick<WorkflowState, "actions">): readonly Action[] {
  const rest = state.actions.slice(currentIndex(state));
  const agentID = rest[0]?.task.agentID;
  const end = rest.findIndex(({ task }) => task.agentID !== agentID);
  return end < 0 ? rest : rest.slice(0, end);
}

/** True when an agent may be told of it: it waits for its first agent, or a part for another agent is next. */
export const awaitsDispatch = (state: WorkflowState): boolean => {
  if (state.dispatch.held) return false;
  if (state.phase === "Pending") return true;
  return state.phase === "Running" && state.actions[currentIndex(state)]?.phase === "Pending";
};

/** What people call the actions, by their ids: names are unique within a task only, and those that are not are told with it. */
export function stepIds(actions: readonly RenderedAction[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of actions) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(actions.map(({ id, name, task }) => [id, counts.get(name) === 1 ? name : `${task.name}/${name}`]));
}

/** The same with this action instead of the one of its id. */
export const withAction = (actions: readonly Action[], changed: Action): readonly Action[] =>
  actions.map((action) => (action.id === changed.id ? changed : action));

const macs = /^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i;

/** Whether two ids name one agent: the same text, or the same MAC address in different writing. */
export function isSameAgent(a: string, b: string): boolean {
  return a === b || (a !== "" && agentKey(a) === agentKey(b));
}

/** Equal for ids of one agent, and for no others: the key to look agents up by. */
export const agentKey = (id: string): string => (macs.test(id) ? id.toLowerCase().replaceAll("-", ":") : id);
