import { type Clock, type JsonObject, type Millis, sleep } from "#lib/base/index.ts";
import type { Waiters } from "#kernel/agents/index.ts";
import { type CallContext, type Handlers, workflowV1 } from "#kernel/rpc/index.ts";
import { agentKey, type Protocol } from "../state.ts";
import type { Taker } from "../transitions.ts";
import { allow, type Caller, checkedAgentID, type Identify, notValid } from "./caller.ts";
import { superseded } from "./connection.ts";
import type { Lanes } from "./lanes.ts";
import { actionMessage, attributesOf, noActionYet, noWorkflows } from "./poll-messages.ts";
import { asUnavailable } from "./record-event.ts";
import { take, type Taken, type TakeParts } from "./taking.ts";
import { workflowId } from "./workflow-id.ts";

export interface AskParts extends TakeParts {
  readonly identify: Identify;
  readonly lanes: Lanes;
  readonly waiters: Waiters;
  readonly pollHold: Millis;
  readonly seen: (agentID: string, protocol: Protocol, caller: Caller, attributes?: JsonObject) => void;
}

/** After a conflict: the mirror is up to date then. */
const lookAgainAfter: Millis = 20;

/** Asks for the next action. The call is held until there is one, so that idle agents poll twice a minute. */
export const getAction =
  (parts: AskParts): NonNullable<Handlers<typeof workflowV1.WorkflowService>["getAction"]> =>
  async ({ agentId = "", agentAttributes }, call) => {
    const taker: Taker = { agentID: checkedAgentID(agentId, "invalid Agent ID"), protocol: "poll" };
    const caller = parts.identify(call);
    allow(caller, taker.agentID);
    parts.seen(taker.agentID, "poll", caller, attributesOf(agentAttributes));
    const taken = await waitFor(parts, taker, call, caller);
    const message =
      taken?.is === "at" ? actionMessage(workflowId(taken.workflow), taken.state, parts.clock) : undefined;
    if (message !== undefined) return message;
    throw parts.mirror.hasUnfinished(agentKey(taker.agentID)) ? noActionYet() : noWorkflows();
  };

/** Undefined when the time is over or the agent asked again. */
async function waitFor(
  parts: AskParts,
  taker: Taker,
  { signal }: CallContext,
  caller: Caller,
): Promise<Taken | undefined> {
  const { clock, lanes, waiters, pollHold } = parts;
  const key = agentKey(taker.agentID);
  const end = clock.monotonic() + pollHold;
  for (;;) {
    // Registered before the look, so that no change is missed.
    const patience = new AbortController();
    const changed = waiters.next(key, patience.signal);
    try {
      if (!caller.isAgent(taker.agentID)) throw notValid();
      const taken = await lanes.run(key, () => takeUnlessGone(parts, taker, signal));
      if (taken.is === "at") return taken;
      const left = end - clock.monotonic();
      if (left <= 0) return undefined;
      const pause = Math.min(left, taken.is === "again" ? lookAgainAfter : untilOf(taken.until, clock));
      const why = await Promise.race([changed, pauseFor(clock, pause, AbortSignal.any([signal, patience.signal]))]);
      signal.throwIfAborted();
      if (why === "replaced") return undefined;
      if (why === "superseded") throw superseded();
    } finally {
      patience.abort();
    }
  }
}

/** An agent that hung up gets nothing. */
export async function takeUnlessGone(parts: AskParts, taker: Taker, signal: AbortSignal): Promise<Taken> {
  signal.throwIfAborted();
  try {
    return await take(parts, taker);
  } catch (thrown) {
    throw asUnavailable(thrown);
  }
}

const untilOf = (until: number | undefined, clock: Clock): Millis =>
  until === undefined ? Number.POSITIVE_INFINITY : Math.max(0, until - clock.now());

/** Also resolves on abort. */
const pauseFor = (clock: Clock, time: Millis, signal: AbortSignal): Promise<"over"> =>
  sleep(clock, time, signal).then(
    () => "over",
    () => "over",
  );
