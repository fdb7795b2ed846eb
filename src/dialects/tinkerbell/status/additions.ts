import { formatInstant } from "#lib/base/index.ts";
import { instantOf, present, timeOf } from "../members.ts";
import type { WorkflowStatusV1 } from "../kinds.ts";
import { type Deadlines, type Dispatch, type WorkflowState } from "../state.ts";

type Additions = Pick<
  WorkflowStatusV1,
  "shape" | "failureReason" | "failureMessage" | "dispatch" | "cancel" | "deadlines"
>;
type Told = Pick<WorkflowState, "dispatch" | "deadlines" | "cancel" | "reason" | "message">;

/** Fields with the same names in both versions. Unreadable times count as absent. */
export function decodeAdditions({ dispatch, cancel, deadlines, failureReason, failureMessage }: Additions): Told {
  return {
    dispatch: decodeDispatch(dispatch),
    deadlines: decodeDeadlines(deadlines),
    ...present({ cancel: decodeCancel(cancel), reason: failureReason, message: failureMessage }),
  };
}

/** Absent before the first dispatch. */
function decodeDispatch({ lastRejection, ...told }: NonNullable<Additions["dispatch"]> = {}): Dispatch {
  const { held = false, attempt = 0, rejections = 0 } = told;
  return {
    held,
    attempt,
    rejections,
    ...present({
      agentID: told.agentID,
      instance: told.instance,
      protocol: told.protocol,
      at: instantOf(told.dispatchedAt),
      notBefore: instantOf(told.notBefore),
      rerun: told.rerun,
      lastRejection: lastRejection && {
        message: lastRejection.message ?? "",
        at: instantOf(lastRejection.time) ?? 0,
        ...present({ reason: lastRejection.reason }),
      },
    }),
  };
}

const decodeDeadlines = (told: Additions["deadlines"] = {}): Deadlines =>
  present({
    scheduled: instantOf(told.scheduled),
    workflow: instantOf(told.workflow),
    action: instantOf(told.action),
    held: instantOf(told.held),
    agent: instantOf(told.agent),
  });

/** Without a deadline it was written by a person; the supervisor sets one. */
function decodeCancel(told: Additions["cancel"]): WorkflowState["cancel"] {
  const requestedAt = instantOf(told?.requestedAt);
  const deadline = instantOf(told?.deadline);
  if (requestedAt === undefined || deadline === undefined) return undefined;
  return { requestedAt, deadline, by: told?.by ?? "User" };
}

/** Undefined members are removed. */
export function encodeAdditions(state: WorkflowState): { readonly [K in keyof Additions]: Additions[K] | undefined } {
  const { dispatch, cancel, deadlines, reason, message, shape } = state;
  const { lastRejection } = dispatch;
  const isTold = dispatch.attempt > 0 || dispatch.rejections > 0;
  return {
    shape,
    failureReason: reason,
    failureMessage: message,
    dispatch: isTold
      ? present({
          agentID: dispatch.agentID,
          instance: dispatch.instance,
          protocol: dispatch.protocol,
          held: dispatch.held,
          attempt: dispatch.attempt,
          dispatchedAt: timeOf(dispatch.at),
          rejections: dispatch.rejections === 0 ? undefined : dispatch.rejections,
          notBefore: timeOf(dispatch.notBefore),
          rerun: dispatch.rerun,
          lastRejection: lastRejection && {
            ...present({ reason: lastRejection.reason }),
            message: lastRejection.message,
            time: formatInstant(lastRejection.at),
          },
        })
      : undefined,
    cancel: cancel && {
      requestedAt: formatInstant(cancel.requestedAt),
      by: cancel.by,
      deadline: formatInstant(cancel.deadline),
    },
    deadlines: encodeDeadlines(deadlines),
  };
}

function encodeDeadlines(deadlines: Deadlines): Additions["deadlines"] {
  const told = present({
    scheduled: timeOf(deadlines.scheduled),
    workflow: timeOf(deadlines.workflow),
    action: timeOf(deadlines.action),
    held: timeOf(deadlines.held),
    agent: timeOf(deadlines.agent),
  });
  return Object.keys(told).length === 0 ? undefined : told;
}
