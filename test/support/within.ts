import { inspect } from "node:util";
import { type Millis, sleep, systemClock } from "#lib/base/index.ts";

// Waits that tell what did not come, and how things stand: the end of a test's own time tells neither. Their limits are for what hangs,
// long enough for the busiest machine and shorter than the test may take.

/** What `promise` gives, when it comes within `limit`; else rejects. What comes later is dropped: to end it is the caller's. */
export function within<T>(limit: Millis, what: string, promise: Promise<T>, state?: () => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(limit, () => reject(notWithin(limit, what, state)));
    promise.finally(cancel).then(resolve, reject);
  });
}

/** Resolves when `holds` does, looking twenty times a second; rejects when it does not within `limit`. */
export async function eventually(
  limit: Millis,
  what: string,
  holds: () => boolean,
  state?: () => unknown,
): Promise<void> {
  const end = systemClock.monotonic() + limit;
  while (!holds()) {
    if (systemClock.monotonic() > end) throw notWithin(limit, what, state);
    await sleep(systemClock, 50);
  }
}

function notWithin(limit: Millis, what: string, state: () => unknown = () => ""): Error {
  const told = state();
  const text = typeof told === "string" ? told : inspect(told, { depth: 6, breakLength: 120, maxArrayLength: 40 });
  return new Error(`not within ${limit / 1000} s: ${what}\n${text}`);
}
