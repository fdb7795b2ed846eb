import { ApiError } from "#kernel/model/index.ts";
import type { ApiContext } from "./context.ts";
import { badRequest } from "./refusals.ts";

/** A resourceVersion of a query as a number; 400 for anything that is none. */
export function parseRevision(text: string): number {
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badRequest(`invalid resourceVersion ${JSON.stringify(text)}`);
  return value;
}

/** Waits a little for a revision that has not been published yet, then answers 504 as Kubernetes does. */
export async function waitForRevision(context: ApiContext, revision: number, signal?: AbortSignal): Promise<void> {
  const { store, clock, limits } = context;
  if (revision <= store.revision) return;
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
