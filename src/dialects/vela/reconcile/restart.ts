import { formatTime, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { parseTimeout } from "../durations.ts";

// A finished workflow restarts by the annotation `app.oam.dev/restart-workflow`: at once, at an instant, or regularly.

export type RestartRequest =
  | { readonly kind: "at"; readonly at: Instant }
  | { readonly kind: "every"; readonly every: Millis };

/** `true`, an RFC 3339 instant or a duration; undefined for anything else. */
export function readRestart(text: string, now: Instant): RestartRequest | undefined {
  if (text === "true") return { kind: "at", at: now };
  const at = /^\d{4}-/.test(text) ? parseInstant(text) : undefined;
  if (at !== undefined) return { kind: "at", at };
  const every = parseTimeout(text);
  return every.ok && every.value > 0 ? { kind: "every", every: every.value } : undefined;
}

export interface RestartState {
  readonly annotation: string | undefined;
  /** `status.workflowRestartScheduledAt`. */
  readonly scheduledAt: string | undefined;
  readonly isFinished: boolean;
  readonly endedAt: Instant | undefined;
}

export interface RestartDecision {
  readonly restarts: boolean;
  /** What `workflowRestartScheduledAt` becomes. */
  readonly scheduledAt: string | undefined;
  /** The request is recorded in the status, so the annotation goes. */
  readonly removesAnnotation: boolean;
  readonly wakeAt?: Instant;
  /** The annotation's value, if it cannot be read. */
  readonly unreadable?: string;
}

/**
 * Pure. A request is first noted in `workflowRestartScheduledAt` and then asked again without its annotation, so that
 * a crash repeats nothing. An unfinished workflow restarts when it has finished, if its time has come by then.
 */
export function decideRestart(state: RestartState, now: Instant): RestartDecision {
  const { annotation = "" } = state;
  const request = annotation === "" ? undefined : readRestart(annotation, now);
  if (request?.kind === "every") return decideRecurring(state, request.every, now);
  if (request?.kind === "at") return { restarts: false, scheduledAt: formatTime(request.at), removesAnnotation: true };
  const told = { removesAnnotation: false, ...(annotation === "" ? {} : { unreadable: annotation }) };
  const at = state.scheduledAt === undefined ? undefined : parseInstant(state.scheduledAt);
  if (at === undefined) return { restarts: false, scheduledAt: undefined, ...told };
  if (at <= now && state.isFinished) return { restarts: true, scheduledAt: undefined, ...told };
  return { restarts: false, scheduledAt: formatTime(at), ...told, ...(at > now ? { wakeAt: at } : {}) };
}

/** Measured from the end of the last run. */
function decideRecurring({ isFinished, endedAt }: RestartState, every: Millis, now: Instant): RestartDecision {
  const kept = { restarts: false, removesAnnotation: false } as const;
  if (!isFinished || endedAt === undefined) return { ...kept, scheduledAt: undefined };
  const at = endedAt + every;
  if (at <= now) return { ...kept, restarts: true, scheduledAt: undefined };
  return { ...kept, scheduledAt: formatTime(at), wakeAt: at };
}
