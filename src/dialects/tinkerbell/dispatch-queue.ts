import type { Instant } from "#lib/base/index.ts";
import { agentKey, agentsOf, awaitsDispatch, type WorkflowState } from "./state.ts";

export interface Age {
  readonly key: string;
  readonly createdAt: Instant;
  readonly uid: string;
}

export interface Candidate extends Age {
  readonly state: WorkflowState;
  readonly isDisabled: boolean;
  readonly isDeleted: boolean;
}

/** Oldest first; ties by uid where uids grow with time (version 7), the others after them by name. A total order. */
export function byAge(a: Age, b: Age): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (isTimed(a.uid) !== isTimed(b.uid)) return isTimed(a.uid) ? -1 : 1;
  if (isTimed(a.uid) && a.uid !== b.uid) return a.uid < b.uid ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Version 7 of RFC 9562 begins with the time. */
const isTimed = (uid: string): boolean => uid[14] === "7";

export function awaitedAgents({ state, isDisabled, isDeleted }: Omit<Candidate, keyof Age>): readonly string[] {
  const isWaiting = awaitsDispatch(state) && !isDeleted && !(isDisabled && state.phase === "Pending");
  return isWaiting ? agentsOf(state).map(agentKey) : [];
}

export type Choice<C extends Candidate> =
  | { readonly is: "next"; readonly candidate: C }
  /** The oldest was just rejected, and none overtakes it. */
  | { readonly is: "later"; readonly at: Instant; readonly candidate: C }
  | { readonly is: "busy"; readonly candidate: C }
  | { readonly is: "nothing" };

export interface Queue<C extends Candidate> {
  /** Workflows the agent may still hold. */
  readonly held: readonly C[];
  readonly oldest: C | undefined;
}

/** The next workflow for an agent: the oldest, one at a time, and none while the agent may hold another. O(1). */
export function choose<C extends Candidate>({ held: [held], oldest }: Queue<C>, now: Instant): Choice<C> {
  if (held !== undefined) return { is: "busy", candidate: held };
  if (oldest === undefined) return { is: "nothing" };
  const at = oldest.state.dispatch.notBefore;
  return at !== undefined && at > now ? { is: "later", at, candidate: oldest } : { is: "next", candidate: oldest };
}
