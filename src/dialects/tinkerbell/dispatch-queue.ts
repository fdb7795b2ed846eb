import type { Instant } from "#lib/base/index.ts";
import { agentKey, agentsOf, awaitsDispatch, type WorkflowState } from "./state.ts";

/** What never changes of a workflow and says who is older. */
export interface Age {
  readonly key: string;
  readonly createdAt: Instant;
  readonly uid: string;
}

/** What decides who comes next for an agent. */
export interface Candidate extends Age {
  readonly state: WorkflowState;
  readonly isDisabled: boolean;
  readonly isDeleted: boolean;
}

/**
 * The oldest first; of one instant by uid where uids grow with time (version 7), and the others after them by name. No two are equal,
 * whatever kinds of uids are mixed.
 */
export function byAge(a: Age, b: Age): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (isTimed(a.uid) !== isTimed(b.uid)) return isTimed(a.uid) ? -1 : 1;
  if (isTimed(a.uid) && a.uid !== b.uid) return a.uid < b.uid ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Version 7 of RFC 9562 begins with the time, which the embedded server makes uids of. */
const isTimed = (uid: string): boolean => uid[14] === "7";

/** The keys of the agents it waits for, now or after a while: whichever comes first has it. */
export function awaitedAgents({ state, isDisabled, isDeleted }: Omit<Candidate, keyof Age>): readonly string[] {
  const isWaiting = awaitsDispatch(state) && !isDeleted && !(isDisabled && state.phase === "Pending");
  return isWaiting ? agentsOf(state).map(agentKey) : [];
}

/** What an agent gets next. */
export type Choice<C extends Candidate> =
  | { readonly is: "next"; readonly candidate: C }
  /** The oldest was refused a moment ago, and nobody overtakes it. */
  | { readonly is: "later"; readonly at: Instant; readonly candidate: C }
  | { readonly is: "busy"; readonly candidate: C }
  | { readonly is: "nothing" };

/** What is known of an agent's workflows. */
export interface Queue<C extends Candidate> {
  /** Those it is not known to be free of. */
  readonly held: readonly C[];
  /** The oldest of those that wait for it. */
  readonly oldest: C | undefined;
}

/** The next workflow for an agent: strictly the oldest, one at a time, and nothing while the agent is not known to be free of another. O(1). */
export function choose<C extends Candidate>({ held: [held], oldest }: Queue<C>, now: Instant): Choice<C> {
  if (held !== undefined) return { is: "busy", candidate: held };
  if (oldest === undefined) return { is: "nothing" };
  const at = oldest.state.dispatch.notBefore;
  return at !== undefined && at > now ? { is: "later", at, candidate: oldest } : { is: "next", candidate: oldest };
}
