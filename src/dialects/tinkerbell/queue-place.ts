import { formatAge, type Instant, isJsonObject, parseInstant } from "#lib/base/index.ts";
import { apiVersionOf, asJson, type KubeObject, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import type { DescribeOptions, Neighbours } from "#kernel/dialect/index.ts";
import { ageOf, candidateOf } from "./candidate.ts";
import { awaitedAgents, byAge } from "./dispatch-queue.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Workflow } from "./kinds.ts";
import { agentName } from "./server/agent-name.ts";
import { agentKey, isTerminal, type WorkflowState } from "./state.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";

// Why a workflow waits is often not in its own object: its agent is away or busy with another workflow.

const agentOf = ({ agentID, dispatch }: WorkflowState): string => agentID || (dispatch.agentID ?? "");

/** Its agent and workflows that may precede it; none once it has ended or while it has no agent. */
export function neighboursOf(workflow: AnyWorkflow): readonly Neighbours[] {
  const state = stateOf(workflow);
  const id = agentOf(state);
  if (id === "" || (isTerminal(state.phase) && !state.dispatch.held)) return [];
  const agent = { apiVersion: apiVersionOf(Agent), kind: Agent.kind, names: [agentName(id), agentName(id, true)] };
  const others = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind };
  return state.phase === "Pending" ? [agent, others] : [agent];
}

/** Its place in the queue of its agent and that agent's state, as far as the caller has the neighbours. */
export function placeTexts(
  workflow: AnyWorkflow,
  { now, children, hidden = [] }: DescribeOptions,
): readonly (readonly [string, string])[] {
  if (children === undefined || neighboursOf(workflow).length === 0) return [];
  const id = agentOf(stateOf(workflow));
  const texts: (readonly [string, string])[] = [];
  if (!hidden.includes(Workflow.kind)) texts.push(...queueTexts(workflow, children.filter(isWorkflow), id));
  if (!hidden.includes(Agent.kind)) texts.push(["Seen", presenceText(children, id, now)]);
  return texts;
}

const isWorkflow = ({ apiVersion, kind }: KubeObject): boolean =>
  kind === Workflow.kind && splitApiVersion(apiVersion).group === Workflow.group;

function queueTexts(workflow: AnyWorkflow, all: readonly KubeObject[], id: string) {
  const key = agentKey(id);
  // Both come from a server.
  const candidates = (all as readonly Stored<AnyWorkflow>[]).map((one) => ({ ...ageOf(one), ...candidateOf(one) }));
  const held = candidates.find(({ state: { dispatch } }) => dispatch.held && agentKey(dispatch.agentID ?? "") === key);
  const waiting = candidates.filter((one) => awaitedAgents(one).includes(key)).toSorted(byAge);
  const own = ageOf(workflow as Stored<AnyWorkflow>).key;
  const at = waiting.findIndex((one) => one.key === own);
  if (at < 0) return [];
  const before = waiting[at - 1] ?? held;
  const { namespace = "" } = workflow.metadata;
  const name = before?.key.startsWith(`${namespace}/`) === true ? before.key.slice(namespace.length + 1) : before?.key;
  const behind = name === undefined ? "" : `, behind wf/${name}`;
  return [["Queue", `${ordinal(at + (held === undefined ? 1 : 2))} for agent ${id}${behind}`]] as const;
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`. */
function ordinal(number: number): string {
  const isTeen = Math.floor(number / 10) % 10 === 1;
  const ending = isTeen ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}

function presenceText(children: readonly KubeObject[], id: string, now: Instant): string {
  const agent = children.map(asJson).find(({ kind, spec }) => {
    const told = isJsonObject(spec) ? spec["agentID"] : undefined;
    return kind === Agent.kind && typeof told === "string" && agentKey(told) === agentKey(id);
  });
  const status = isJsonObject(agent?.["status"]) ? agent["status"] : {};
  const { connected, lastSeen, protocol } = status;
  const seenAt = typeof lastSeen === "string" ? parseInstant(lastSeen) : undefined;
  const seen = seenAt === undefined ? "" : `, last seen ${formatAge(now - seenAt)} ago`;
  const by = typeof protocol === "string" ? ` by ${protocol}` : "";
  return connected === true ? `agent ${id} is connected${by}${seen}` : `agent ${id} is not connected${seen}`;
}
