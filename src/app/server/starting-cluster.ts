import {
  type Clock,
  codeOf,
  type Logger,
  messageOf,
  type Millis,
  SlipwayError,
  sleep,
  retry,
} from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isForbidden } from "#kernel/model/index.ts";

/** An API server creates its roles within this time. */
const patience: Millis = 30_000;
const pause: Millis = 1_000;

/**
 * Asks the API of a cluster, and retries a 403 while it is starting: until its roles exist, an API server forbids
 * everything. Rejects with the refusal of a ready server, or with the last one after 30 seconds.
 */
export async function onceStarted<T>(
  client: ApiClient,
  clock: Clock,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  const end = clock.monotonic() + patience;
  for (;;) {
    // Checked before asking: a server that becomes ready in between is asked once more.
    const isLast = clock.monotonic() >= end || (await isReady(client, signal));
    try {
      return await ask();
    } catch (thrown) {
      if (!isForbidden(thrown) || isLast) throw thrown;
    }
    await sleep(clock, pause, signal);
  }
}

/** Any refusal means not ready. */
const isReady = (client: ApiClient, signal: AbortSignal): Promise<boolean> =>
  client.raw("/readyz", { signal }).then(
    () => true,
    () => false,
  );

/** Failures of a server that is down or starting. */
const away = new Set([
  "connection-refused",
  "host-unknown",
  "connection-timeout",
  "connection-failed",
  "request-timeout",
]);
const waits = { first: 500, longest: 10_000 };

/** Resolves when the API server answers; warns while it does not. Rejects with permanent failures. */
export async function onceReachable(
  client: ApiClient,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Pick<Logger, "warn">; readonly signal: AbortSignal },
): Promise<void> {
  const isRetryable = (thrown: unknown): boolean => {
    if (signal.aborted || !away.has(codeOf(thrown) ?? "")) return false;
    log.warn("waiting for the API server", { error: messageOf(thrown) });
    return true;
  };
  try {
    await retry({ ...waits, clock, signal, isRetryable }, () => client.raw("/readyz", { signal }));
  } catch (thrown) {
    signal.throwIfAborted();
    // Any other answer shows that it is reachable.
    if (thrown instanceof SlipwayError) throw thrown;
  }
}
