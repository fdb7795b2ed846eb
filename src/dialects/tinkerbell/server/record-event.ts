import { type Clock, codeOf, messageOf } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError, isNotFound, type Stored } from "#kernel/model/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { type AgentEvent, judgeEvent, type Verdict } from "../events.ts";
import type { Notice } from "../messages.ts";
import { hasPostSteps } from "../reconcile/post-steps.ts";
import type { Settings } from "../settings.ts";
import { agentKey, agentsOf, type Protocol, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, changeWorkflow, refOf } from "../stored.ts";
import type { Caller, Identify } from "./caller.ts";
import type { Lanes } from "./lanes.ts";
import { parseWorkflowId, placeKey, type WorkflowPlace } from "./workflow-id.ts";
import type { WorkflowMirror } from "./workflow-mirror.ts";

// Agents repeat an event until it is answered and do nothing else meanwhile. OK means that it is durable or changes
// nothing; any other code that nothing was recorded and, except for UNAVAILABLE, never will be.

export interface RecordParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly mirror: WorkflowMirror;
  readonly lanes: Lanes;
  readonly tell: (workflow: Stored<AnyWorkflow>, notices: readonly Notice[]) => void;
  readonly wake: (agent: string) => void;
  readonly stopAgain: (agent: string, id: string) => void;
  readonly onJudged?: (event: AgentEvent["is"], verdict: Verdict) => void;
}

export interface ReportParts {
  readonly identify: Identify;
  readonly mirror: WorkflowMirror;
  readonly tell: (workflow: Stored<AnyWorkflow>, notices: readonly Notice[]) => void;
  readonly record: (
    id: string,
    event: AgentEvent,
    from: { readonly caller: Caller; readonly protocol: Protocol },
  ) => Promise<void>;
}

/** Records an event. Resolves when it is durable or changes nothing; otherwise rejects with the protocol's code. */
export async function recordEvent(
  parts: RecordParts,
  id: string,
  event: AgentEvent,
  from: { readonly caller: Caller; readonly protocol: Protocol },
): Promise<void> {
  const place = parseWorkflowId(id);
  if (place === undefined) throw new RpcError("NOT_FOUND", `there is no workflow "${id.slice(0, 100)}"`);
  const lane = laneOf(parts.mirror, place);
  const { verdict, workflow, agents } = await parts.lanes.run(lane, () => judge(parts, place, id, event, from));
  parts.onJudged?.(event.is, verdict);
  parts.tell(workflow, verdict.notices);
  if (verdict.stop) for (const agent of agents) parts.stopAgain(agent, id);
  for (const agent of agents) parts.wake(agent);
  if (verdict.code !== "OK") throw new RpcError(verdict.code, verdict.message ?? "refused");
}

/** The agent's lane keeps its events and commands in order. */
function laneOf(mirror: WorkflowMirror, place: WorkflowPlace): string {
  const state = mirror.get(place)?.state;
  return agentKey(state?.dispatch.agentID ?? state?.agentID ?? placeKey(place));
}

/** Reads, judges and stores, repeated on conflicts. A deleted or recreated workflow is not found. */
async function judge(
  parts: RecordParts,
  place: WorkflowPlace,
  id: string,
  event: AgentEvent,
  { caller, protocol }: { readonly caller: Caller; readonly protocol: Protocol },
) {
  const gone = (): RpcError => new RpcError("NOT_FOUND", `there is no workflow "${id}"`);
  try {
    const { answer, workflow } = await changeWorkflow(
      parts,
      refOf(place.namespace, place.name),
      (state, current, now) => {
        if (place.uid !== undefined && current.metadata.uid !== place.uid) throw gone();
        if (!concernedBy(state, event).some((agent) => caller.isAgent(agent)))
          throw new RpcError("PERMISSION_DENIED", `the workflow is not ${caller.name}'s`);
        const seed = current.metadata.uid;
        const { settings } = parts;
        const context = { now, settings, protocol, seed, hasPostSteps: hasPostSteps(current) };
        const verdict = judgeEvent(state, event, context);
        const agents = new Set([...concernedBy(state, event), verdict.state?.agentID ?? ""]);
        return { state: verdict.state, answer: { verdict, agents: [...agents].filter((agent) => agent !== "") } };
      },
    );
    return { ...answer, workflow };
  } catch (thrown) {
    throw isNotFound(thrown) ? gone() : asUnavailable(thrown);
  }
}

function concernedBy(state: WorkflowState, event: AgentEvent): readonly string[] {
  const action = event.is === "rejected" ? undefined : state.actions.find(({ id }) => id === event.action);
  return [state.dispatch.agentID, ...agentsOf(state), action?.task.agentID].filter((agent) => agent !== undefined);
}

/** Errors of storage are not the agent's fault; it repeats the event. */
export function asUnavailable(thrown: unknown): unknown {
  const isOfStorage = thrown instanceof ApiError || codeOf(thrown) !== undefined;
  if (thrown instanceof RpcError || !isOfStorage) return thrown;
  return new RpcError("UNAVAILABLE", `it could not be recorded: ${messageOf(thrown)}`, { cause: thrown });
}
