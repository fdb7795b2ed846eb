import type { Cancel, Clock } from "./clock.ts";
import type { Millis } from "./time.ts";

/**
 * Calls `run` once when the signal aborts; during this call if it already has. Without a signal it does nothing. The
 * returned function removes the listener. Since `run` may be called before `onAbort` returns, it must not use that
 * function.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): Cancel {
  if (signal === undefined) return () => undefined;
  const listener = (): void => run();
  if (signal.aborted) run();
  else signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** Resolves when the signal aborts, at once if it has. Its listener stays as long as the signal. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    onAbort(signal, resolve);
  });

/** The work's outcome, or a rejection with the signal's reason; the work itself continues. Leaves no listener. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const cancel = onAbort(signal, () => reject(signal.reason as Error));
    work.then(resolve, reject).finally(cancel);
  });
}

/** Resolves after `delay`; rejects with the signal's reason. Leaves no timer or listener; lets the process exit. */
export function sleep(clock: Clock, delay: Millis, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const cancelTimer = clock.after(delay, () => {
      cancelListener();
      resolve();
    });
    const cancelListener = onAbort(signal, () => {
      cancelTimer();
      reject(signal?.reason as Error);
    });
  });
}
