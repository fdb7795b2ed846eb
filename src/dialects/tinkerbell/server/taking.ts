import type { Clock, Instant } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isConflict, isNotFound, type Stored } from "#kernel/model/index.ts";
import { choose } from "../dispatch-queue.ts";
import type { Notice } from "../messages.ts";
import { confirmCancel, interrupted, isByOther, type Resumption } from "../reconnect.ts";
import type { Settings } from "../settings.ts";
import { agentKey, isTerminal, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, changeWorkflow, refOf, storeState } from "../stored.ts";
import { dispatch, letGo, runningAction, type Taker } from "../transitions.ts";
import type { Mirrored, WorkflowMirror } from "./workflow-mirror.ts";

// Agents of the older protocols poll, and only between two actions, so a polling agent runs nothing.

export interface TakeParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly mirror: WorkflowMirror;
  readonly tell: (workflow: Stored<AnyWorkflow>, notices: readonly Notice[]) => void;
  readonly onSent?: (how: "sent" | "resent") => void;
}

export type Taken =
  | { readonly is: "at"; readonly workflow: Stored<AnyWorkflow>; readonly state: WorkflowState }
  /** Nothing until a change or this time. */
  | { readonly is: "nothing"; readonly until?: Instant }
  | { readonly is: "again" };

/** The agent's current or next workflow, durably held by it. Call it in the agent's lane. */
export async function take(parts: TakeParts, taker: Taker): Promise<Taken> {
  const { client, clock, mirror, settings, tell, onSent } = parts;
  const key = agentKey(taker.agentID);
  for (const held of mirror.heldBy(key)) {
    const goesOn = await goOnWith(parts, held, taker);
    if (goesOn !== undefined) return goesOn;
  }
  const now = clock.now();
  const choice = choose(mirror.queueOf(key), now);
  if (choice.is === "later") return { is: "nothing", until: choice.at };
  // The mirror does not have the last write yet.
  if (choice.is === "busy") return { is: "again" };
  if (choice.is === "nothing") return choice;
  const next = choice.candidate;
  const move = dispatch(next.state, taker, now, settings);
  try {
    const workflow = await storeState(client, next.workflow, move.state, now);
    tell(workflow, move.notices);
    onSent?.("sent");
    return { is: "at", workflow, state: move.state };
  } catch (thrown) {
    if (isConflict(thrown) || isNotFound(thrown)) return { is: "again" };
    throw thrown;
  }
}

/** For a workflow that the agent holds and does not run; undefined if it is free of it. */
async function goOnWith(parts: TakeParts, { workflow }: Mirrored, taker: Taker): Promise<Taken | undefined> {
  const { tell, settings, onSent } = parts;
  const { namespace = "", name, uid } = workflow.metadata;
  const { answer, workflow: stored } = await changeWorkflow(parts, refOf(namespace, name), (state, current, now) => {
    const isHeld = state.dispatch.held && agentKey(state.dispatch.agentID ?? "") === agentKey(taker.agentID);
    if (current.metadata.uid !== uid || !isHeld) return { answer: {} };
    const resumption = asked(state, taker, now, settings);
    const next = resumption.move?.state;
    return { state: next, answer: { ...resumption, state: next ?? state } };
  }).catch((thrown: unknown) => {
    // A deleted workflow needs no agent.
    if (isNotFound(thrown)) return { answer: {}, workflow };
    throw thrown;
  });
  const { move, send, state, notices }: Resumption & { readonly state?: WorkflowState } = answer;
  if (move !== undefined) tell(stored, move.notices);
  if (notices !== undefined) {
    tell(stored, notices);
    return { is: "nothing" };
  }
  if (send !== "start" || state === undefined) return undefined;
  if (move !== undefined) onSent?.("resent");
  return { is: "at", workflow: stored, state };
}

/** Polling says that nothing runs: it confirms a stop, and means an interruption if an action ran. */
function asked(state: WorkflowState, taker: Taker, now: Instant, settings: Settings): Resumption {
  if (state.phase === "Cancelling") return { move: confirmCancel(state, now) };
  if (isTerminal(state.phase)) return { move: letGo(state) };
  const running = runningAction(state);
  // It was told to repeat the action and has not started it.
  const isRerun = running !== undefined && state.dispatch.rerun === running.id;
  if ((running === undefined || isRerun) && !isByOther(state, taker)) return { send: "start" };
  return interrupted(state, taker, now, settings);
}
