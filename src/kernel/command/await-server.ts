import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { Output } from "./environment.ts";

/** The server, or how long to wait for it and what to do otherwise. */
export type Look<T> = { readonly found: T } | { readonly patience: Millis; readonly otherwise: () => T };

/** Without any sign of a server: it may just have been started. */
export const absentPatience: Millis = 3000;
/** A server that is starting may have much to read. */
export const startingPatience: Millis = 30_000;

const lookMs: Millis = 50;
const tellAfterMs: Millis = 1000;

export interface Waiting {
  readonly clock: Clock;
  readonly err: Pick<Output, "isTerminal" | "write">;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits for a server that is starting, until patience ends; tells a person at a terminal after a second. Rejects with
 * the signal's reason.
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
