import { formatAge, type Instant } from "#lib/base/index.ts";
import { type DescribeOptions, pairsOf, tableOf } from "#kernel/dialect/index.ts";
import { placeTexts } from "./queue-place.ts";
import { referencesOf } from "./references.ts";
import { formatElapsed } from "./messages.ts";
import { type Action, isTerminal, type WorkflowState } from "./state.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";
import { viewWorkflow } from "./view.ts";

/** A workflow for people, in several lines without colours; times are relative to `now`. */
export function describeWorkflow(workflow: AnyWorkflow, options: DescribeOptions): string {
  const { now } = options;
  const state = stateOf(workflow);
  const { template, hardware } = referencesOf(workflow);
  const { namespace = "-", name = "" } = workflow.metadata;
  const head: readonly (readonly [string, string])[] = [
    ["Name", name],
    ["Namespace", namespace],
    ["Template", template === "" ? "-" : template],
    ["Hardware", hardware === "" ? "-" : hardware],
    ["State", stateText(state)],
    ["Agent", agentText(state)],
    ...waitText(workflow, state, now),
    ...placeTexts(workflow, options),
    ...deadlineTexts(state, now),
    ...rejectionText(state, now),
  ];
  const rows = state.actions.map((action) => rowOf(action, now));
  return [
    ...pairsOf(head),
    "",
    ...(rows.length === 0
      ? ["Actions:  none yet"]
      : tableOf([["ACTION", "STATE", "TRY", "STARTED", "TOOK", "REASON", "MESSAGE"], ...rows])),
    "",
  ].join("\n");
}

const stateText = ({ phase, reason }: WorkflowState): string =>
  `${phase === "" ? "not prepared" : phase}${reason === undefined ? "" : ` (${reason})`}`;

/** Its agent, and whether that holds it: a finished workflow may be held until its agent is known to be free. */
function agentText({ agentID, dispatch, phase }: WorkflowState): string {
  const id = agentID === "" ? (dispatch.agentID ?? "") : agentID;
  if (id === "") return "-";
  if (!dispatch.held) return id;
  return isTerminal(phase) ? `${id}, which may still be at work on it` : `${id}, by ${dispatch.protocol ?? "stream"}`;
}

function waitText(workflow: AnyWorkflow, state: WorkflowState, now: Instant): readonly (readonly [string, string])[] {
  const { message } = viewWorkflow(workflow);
  if (message !== undefined) return [["Message", message]];
  const { notBefore = 0 } = state.dispatch;
  if (workflow.spec?.["disabled"] === true && (state.phase === "" || state.phase === "Pending"))
    return [["Waits", "it is disabled: spec.disabled"]];
  if (state.phase === "Pending")
    return [
      [
        "Waits",
        notBefore > now
          ? `until ${formatAge(notBefore - now)} from now, because the agent rejected it`
          : "for its agent",
      ],
    ];
  if (state.phase === "Scheduled") return [["Waits", "for its agent to start it"]];
  return [];
}

function deadlineTexts({ deadlines, cancel }: WorkflowState, now: Instant): readonly (readonly [string, string])[] {
  const all = [
    ["to start", deadlines.scheduled],
    ["of the workflow", deadlines.workflow],
    ["of the action", deadlines.action],
    ["of the agent's return", deadlines.agent],
    ["to stop", cancel?.deadline],
  ] as const;
  const told = all.flatMap(([what, at]) => (at === undefined ? [] : [`${what} ${inText(at, now)}`]));
  return told.length === 0 ? [] : [["Deadline", told.join(", ")]];
}

const inText = (at: Instant, now: Instant): string => (at > now ? `in ${formatAge(at - now)}` : "passed");

function rejectionText({ dispatch }: WorkflowState, now: Instant): readonly (readonly [string, string])[] {
  const { lastRejection, rejections } = dispatch;
  if (lastRejection === undefined || rejections === 0) return [];
  const often = rejections === 1 ? "once" : `${rejections} times`;
  return [["Refused", `${often}, last ${formatAge(now - lastRejection.at)} ago: ${lastRejection.message}`]];
}

const rowOf = (action: Action, now: Instant): readonly string[] => {
  const { name, phase, attempts, startedAt, finishedAt, reason = "", message = "" } = action;
  return [
    name,
    phase,
    attempts === 0 ? "-" : String(attempts),
    startedAt === undefined ? "-" : `${formatAge(now - startedAt)} ago`,
    startedAt === undefined || finishedAt === undefined ? "-" : formatElapsed(finishedAt - startedAt),
    reason === "" ? "-" : reason,
    message,
  ];
};
