import { type Instant, type Logger, type Millis, messageOf } from "#lib/base/index.ts";

/** The object to look at. It may not exist any more. */
export interface ReconcileRequest {
  readonly namespace?: string;
  readonly name: string;
}

export interface ReconcileContext {
  /** Aborts when the reconcile took too long or leadership is lost; work must then end without further writes. */
  readonly signal: AbortSignal;
  /** Adds the controller and the object to every entry. */
  readonly log: Logger;
  readonly now: Instant;
  /** Failures in a row before this try. */
  readonly failures: number;
}

export interface ReconcileResult {
  /** Nothing is wrong; look again after this long at the latest. */
  readonly requeueAfter?: Millis;
}

/** A plan that holds until something happens or its time comes. */
export interface Waking {
  /** Look again then, even if nothing happens; absent when only a change can matter. */
  readonly wakeAt?: Instant;
}

/** To look again at a time; at once when it has come, and never when there is none. */
export const requeueAt = (at: Instant | undefined, now: Instant): ReconcileResult | undefined =>
  at === undefined ? undefined : { requeueAfter: Math.max(1, at - now) };

/**
 * Brings one object closer to what it should be. Level-based: it looks at the present state, never at what changed, and may be
 * called at any time for any name. Never called twice at once for one key.
 * - It resolves: all is well; the object is looked at again when something changes or after `requeueAfter`.
 * - It throws: tried again with growing delays. Write what was observed, then throw.
 * - It throws a `TerminalError`: recorded, not tried again before something changes.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult | undefined | void>;
}

/** A failure that trying again cannot mend. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";

  /** Wraps what was thrown, or states the reason as text. */
  constructor(reason: unknown) {
    super(messageOf(reason), { cause: reason });
  }
}
