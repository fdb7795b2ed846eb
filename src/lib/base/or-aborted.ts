import { deferred } from "./deferred.ts";

/**
 * What the work comes to; rejects with the signal's reason when that aborts first, or had aborted before. The work itself goes on: somebody else may
 * want it. What becomes of it then is told to nobody. Leaves no listener behind.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const ended = deferred<never>();
  const abort = (): void => ended.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
