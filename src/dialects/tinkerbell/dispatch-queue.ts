import type { Instant } from "#lib/base/index.ts";
import { agentKey, awaitsDispatch, type WorkflowState } from "./state.ts";

/** What decides who comes next for an agent. */
export interface Candidate {
  readonly key: string;
  readonly state: WorkflowState;
  readonly createdAt: Instant;
  readonly uid: string;
  readonly isDisabled: boolean;
  readonly isDeleted: boolean;
}

/** The oldest first; of one instant by uid where uids grow with time (version 7), and by name. */
export function byAge(a: Candidate, b: Candidate): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (isTimed(a.uid) && isTimed(b.uid) && a.uid !== b.uid) return a.uid < b.uid ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Version 7 of RFC 9562 begins with the time, which the embedded server makes uids of. */
const isTimed = (uid: string): boolean => uid[14] === "7";

/** Whether it waits for an agent, now or after a while. */
export const isWaiting = ({ state, isDisabled, isDeleted }: Candidate): boolean =>
  awaitsDispatch(state) && !isDeleted && !(isDisabled && state.phase === "Pending");

/** What an agent gets next. */
export type Choice<C extends Candidate> =
  | { readonly is: "next"; readonly candidate: C }
  /** The oldest was refused a moment ago, and nobody overtakes it. */
  | { readonly is: "later"; readonly at: Instant; readonly candidate: C }
  | { readonly is: "busy"; readonly candidate: C }
  | { readonly is: "nothing" };

/**
 * The next workflow for an agent, out of all that are its own: strictly the oldest, one at a time, and nothing while the agent is not known to
 * be free of another. O(candidates).
 */
export function choose<C extends Candidate>(candidates: Iterable<C>, agentID: string, now: Instant): Choice<C> {
  const own = agentKey(agentID);
  let oldest: C | undefined;
  for (const candidate of candidates) {
    const { state } = candidate;
    if (state.dispatch.held && agentKey(state.dispatch.agentID ?? "") === own) return { is: "busy", candidate };
    if (agentKey(state.agentID) !== own || !isWaiting(candidate)) continue;
    if (oldest === undefined || byAge(candidate, oldest) < 0) oldest = candidate;
  }
  if (oldest === undefined) return { is: "nothing" };
  const at = oldest.state.dispatch.notBefore;
  return at !== undefined && at > now ? { is: "later", at, candidate: oldest } : { is: "next", candidate: oldest };
}
