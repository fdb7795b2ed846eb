import { ApiError, badRequest } from "#kernel/model/index.ts";
import type { ApiContext } from "./context.ts";

/** A resourceVersion of a query as a number; 400 for anything that is none. */
export function parseRevision(text: string): number {
  /** Beyond 2^53 a double would stand for another revision; no store gets there. */
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badRequest(`invalid resourceVersion ${JSON.stringify(text)}`);
  return value;
}

/**
 * Waits a little for a revision that has not been published yet (`Limits.futureRevisionWaitMs`), then answers 504 as Kubernetes does, with
 * the cause by which client-go knows it and a second to wait. Returns at once for one that is there; rejects when the signal aborts.
 */
export async function waitForRevision(context: ApiContext, revision: number, signal?: AbortSignal): Promise<void> {
  const { store, clock, limits } = context;
  if (revision <= store.revision) return;
  // A client may have read the revision from another server's answer a moment ago; more than that is a mistake (504).
  const timeUp = new AbortController();
  const cancel = clock.after(limits.futureRevisionWaitMs, () => timeUp.abort());
  const either = signal === undefined ? timeUp.signal : AbortSignal.any([signal, timeUp.signal]);
  try {
    await store.reached(revision, either);
  } catch (cause) {
    if (!timeUp.signal.aborted) throw cause;
    throw new ApiError("Timeout", `Too large resource version: ${revision}, current: ${store.revision}`, {
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    });
  } finally {
    cancel();
  }
}
