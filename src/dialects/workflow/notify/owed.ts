import { formatTime, type Instant } from "#lib/base/index.ts";
import { diff, isTerminal, type Note, type RunState } from "#engine/index.ts";
import type { Notification, NotificationsStatus, NotifiedEvent, OwedNotification } from "./schema.ts";

// Owed notifications are part of the write that causes them, so a crash loses none.

/** Per workflow. Beyond it only events of the run are kept. */
const mostOwed = 200;
const longestMessage = 256;
/** Abandoned ones, for people. */
const failedKept = 5;

interface Happened {
  readonly event: NotifiedEvent;
  readonly step?: string;
  readonly message?: string | undefined;
}

function happened(before: RunState, after: RunState): readonly Happened[] {
  const begins = after.startedAt !== undefined && before.startedAt !== after.startedAt;
  return [...(begins ? [{ event: "Started" } as const] : []), ...diff(before, after).flatMap(told)];
}

/** Of steps only final ends and questions; failed attempts call for nobody. */
function told(note: Note): readonly Happened[] {
  if (note.kind === "item") return [];
  const message = [note.reason, note.message].filter((text) => text !== undefined && text !== "").join(": ");
  if (note.kind === "run") {
    const { to } = note;
    return to === "Succeeded" || to === "Failed" || to === "Canceled" ? [{ event: to, message }] : [];
  }
  if (note.to === "Failed" && note.from !== "Failed") return [{ event: "StepFailed", step: note.step, message }];
  const isAsked = note.to === "Suspended" && note.from !== "Suspended";
  return isAsked ? [{ event: "ApprovalNeeded", step: note.step, message: note.message }] : [];
}

export function notificationsAfter(
  previous: NotificationsStatus | undefined,
  wanted: readonly Notification[] | undefined,
  before: RunState,
  after: RunState,
  now: Instant,
): { readonly notifications?: NotificationsStatus } {
  if (wanted === undefined || wanted.length === 0) return {};
  const added = happened(before, after).flatMap(({ event, step, message = "" }) =>
    wanted.flatMap(({ on }, to): OwedNotification[] => {
      if (!on.includes(event)) return [];
      const text = message.slice(0, longestMessage);
      const about = { ...(step === undefined ? {} : { step }), ...(text === "" ? {} : { message: text }) };
      return [{ to, event, runNumber: after.number, time: formatTime(now), ...about }];
    }),
  );
  if (added.length === 0) return {};
  // Older ones first: targets get events in order.
  const owed = [...(previous?.owed ?? [])];
  let { dropped = 0 } = previous ?? {};
  for (const one of added) {
    if (owed.length < mostOwed || one.step === undefined) owed.push(one);
    else dropped++;
  }
  return { notifications: { ...previous, owed, ...(dropped === 0 ? {} : { dropped }) } };
}

export interface Delivery {
  readonly owed: OwedNotification;
  readonly is: "delivered" | "failed" | "given up";
  /** Absent if delivered. */
  readonly problem?: string;
}

/** The same target and event; each happens once in a run. */
export const isSame = (a: OwedNotification, b: OwedNotification): boolean => a.to === b.to && idPart(a) === idPart(b);

/** The part of the id after the uid. */
export const idPart = ({ runNumber, event, step }: OwedNotification): string =>
  `${runNumber}/${event}${step === undefined ? "" : `/${step}`}`;

/** The status after deliveries; the same object if nothing changes. */
export function afterDeliveries(
  status: NotificationsStatus | undefined,
  deliveries: readonly Delivery[],
): NotificationsStatus | undefined {
  const { owed = [], delivered = 0, failed = [], ...rest } = status ?? {};
  const left: OwedNotification[] = [];
  const lost: OwedNotification[] = [];
  let done = 0;
  let isChanged = false;
  for (const entry of owed) {
    // Newer entries are not affected.
    const end = deliveries.find((one) => isSame(one.owed, entry));
    if (end === undefined || (end.is === "failed" && end.problem === entry.problem)) left.push(entry);
    else {
      isChanged = true;
      if (end.is === "delivered") done++;
      else (end.is === "failed" ? left : lost).push({ ...entry, problem: end.problem ?? "" });
    }
  }
  if (!isChanged) return status;
  const all = [...failed, ...lost].slice(-failedKept);
  return {
    ...rest,
    ...(left.length === 0 ? {} : { owed: left }),
    ...(delivered + done === 0 ? {} : { delivered: delivered + done }),
    ...(all.length === 0 ? {} : { failed: all }),
  };
}

/** A finished run still owes notifications, and is kept until then. */
export const owesNews = (status: {
  readonly phase?: RunState["phase"];
  readonly notifications?: NotificationsStatus;
}): boolean => status.phase !== undefined && isTerminal(status.phase) && (status.notifications?.owed ?? []).length > 0;
