import { type Instant, type Logger, type Millis, messageOf } from "#lib/base/index.ts";

/** The object may not exist any more. */
export interface ReconcileRequest {
  readonly namespace?: string;
  readonly name: string;
}

export interface ReconcileContext {
  /** Aborts if the reconcile takes too long or leadership is lost; nothing may be written then. */
  readonly signal: AbortSignal;
  /** Adds the controller and the object to every entry. */
  readonly log: Logger;
  readonly now: Instant;
  /** Failures in a row before this try. */
  readonly failures: number;
}

export interface ReconcileResult {
  /** Look again after this long at the latest. */
  readonly requeueAfter?: Millis;
}

export interface Waking {
  /** When to look again; absent if only a change can matter. */
  readonly wakeAt?: Instant;
}

export const requeueAt = (at: Instant | undefined, now: Instant): ReconcileResult | undefined =>
  at === undefined ? undefined : { requeueAfter: Math.max(1, at - now) };

/**
 * Brings one object closer to its desired state. Level-based: it looks at the present state, may be called at any time
 * for any name, and never twice at once for a key. After it resolves, the object is looked at again when something
 * changes or after `requeueAfter`. If it throws, it is retried with backoff: write what was observed, then throw. A
 * `TerminalError` is recorded and not retried before something changes.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult | undefined | void>;
}

/** Retrying does not help. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";

  constructor(reason: unknown) {
    super(messageOf(reason), { cause: reason });
  }
}
