import { formatTime, type Instant } from "#lib/base/index.ts";
import { diff, isTerminal, type Note, type RunState } from "#engine/index.ts";
import type { Notification, NotificationsStatus, NotifiedEvent, OwedNotification } from "./schema.ts";

// What is to be told is written down in the very write that makes it happen, so that no crash between the two can lose it. Delivering
// takes it off again, in a write of its own.

/** Owed at once by one workflow. Beyond it steps are no longer told of; what happens to the run is. */
const mostOwed = 200;
const longestMessage = 256;
/** Given up, for people to see. */
const failedKept = 5;

/** Something to tell, before it is known who wants to hear of it. */
interface Happened {
  readonly event: NotifiedEvent;
  readonly step?: string;
  readonly message?: string | undefined;
}

/** What the outside is told of the way from one stored run to the next, in the order it happened. */
function happened(before: RunState, after: RunState): readonly Happened[] {
  const begins = after.startedAt !== undefined && before.startedAt !== after.startedAt;
  return [...(begins ? [{ event: "Started" } as const] : []), ...diff(before, after).flatMap(told)];
}

/**
 * Of a step only its end for good and the question it asks are told: that an attempt failed and is followed by another one is nothing that
 * anybody would be called for.
 */
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

/** The part of a status that follows from a change of the run; nothing where nobody wants to be told. */
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
  // What an earlier pass owes comes first: targets hear of things in the order they happened.
  const owed = [...(previous?.owed ?? [])];
  let { dropped = 0 } = previous ?? {};
  for (const one of added) {
    if (owed.length < mostOwed || one.step === undefined) owed.push(one);
    else dropped++;
  }
  return { notifications: { ...previous, owed, ...(dropped === 0 ? {} : { dropped }) } };
}

/** How one delivery has ended. */
export interface Delivery {
  readonly owed: OwedNotification;
  readonly is: "delivered" | "failed" | "given up";
  /** Absent where it was delivered. */
  readonly problem?: string;
}

/** Told apart by target and event: nothing happens twice in one run. The same notification, whatever became of its entry since. */
export const isSame = (a: OwedNotification, b: OwedNotification): boolean => a.to === b.to && idPart(a) === idPart(b);

/** What the id of an event says after the uid. */
export const idPart = ({ runNumber, event, step }: OwedNotification): string =>
  `${runNumber}/${event}${step === undefined ? "" : `/${step}`}`;

/** The status after deliveries, which may have been changed meanwhile; the very same when there is nothing to write. */
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
    // Entries that came meanwhile are in no delivery, and stay.
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

/** True for a run that has ended, and of which something is still to be told: it is not to go before. */
export const owesNews = (status: {
  readonly phase?: RunState["phase"];
  readonly notifications?: NotificationsStatus;
}): boolean => status.phase !== undefined && isTerminal(status.phase) && (status.notifications?.owed ?? []).length > 0;
