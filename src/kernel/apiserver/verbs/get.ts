import { ApiError, badRequest, notFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { keyFor } from "./storage-view.ts";

/** 404 when missing. `resourceVersion` means "not older than": 504 for a future one after a wait, 400 if invalid. */
export async function getObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  resourceVersion = "",
): Promise<Answer> {
  if (resourceVersion !== "") await waitForRevision(context, parseRevision(resourceVersion));
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  if (entry === undefined) throw notFound(resource.type, target.name);
  return { resource, entry, warnings: resource.warnings };
}

/** A resourceVersion as a number; 400 for anything else. */
export function parseRevision(text: string): number {
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badRequest(`invalid resourceVersion ${JSON.stringify(text)}`);
  return value;
}

/** Waits `Limits.futureRevisionWaitMs`, then 504 with client-go's cause. Rejects when the signal aborts. */
export async function waitForRevision(context: ApiContext, revision: number, signal?: AbortSignal): Promise<void> {
  const { store, clock, limits } = context;
  if (revision <= store.revision) return;
  // A client may have the revision from another server's recent answer.
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
