import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { Output } from "./environment.ts";

/** One look for a server: it is there, or how long it is worth waiting for and what to do if it does not come. */
export type Look<T> = { readonly found: T } | { readonly patience: Millis; readonly otherwise: () => T };

/** A few seconds, for a server of which there is no sign: it may just have been started. */
export const absentPatience: Millis = 3000;
/** A server that is known to be starting may have much to read. */
export const startingPatience: Millis = 30_000;

const lookMs: Millis = 50;
const tellAfterMs: Millis = 1000;

/** Where a client waits. */
export interface Waiting {
  readonly clock: Clock;
  readonly err: Pick<Output, "isTerminal" | "write">;
  readonly signal: AbortSignal | undefined;
}

/**
 * Looks for a server until it is there or patience ends: how every client waits for a server that is starting. A person at a terminal is told
 * after a second. Rejects with the signal's reason once that aborts.
 */
export async function awaitServer<T>(
  what: string,
  look: () => Promise<Look<T>>,
  { clock, err, signal }: Waiting,
): Promise<T> {
  const begun = clock.monotonic();
  let isTold = !err.isTerminal;
  for (;;) {
    signal?.throwIfAborted();
    const seen = await look();
    if ("found" in seen) return seen.found;
    const waited = clock.monotonic() - begun;
    if (waited >= seen.patience) return seen.otherwise();
    if (!isTold && waited >= tellAfterMs) err.write(`slipway: waiting for ${what} to start\n`);
    isTold ||= waited >= tellAfterMs;
    await sleep(clock, lookMs, signal);
  }
}
