import type { Clock } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound } from "#kernel/model/index.ts";
import { type LogPlace, logStart, PlacedReading, tailPlace } from "./log-place.ts";
import { mostFailures, Patience, reconnectMs } from "./patience.ts";
import { openStepLog, type StepLog } from "#app/runs/index.ts";

/**
 * The output of one container to its end, every byte once, however often the connection breaks: the log is read again
 * and what was shown is skipped. Empty for a container that never started or is gone. Rejects when the server stays
 * away or refuses, when the container disappears before its end, and when the log has changed (`log-changed`): an
 * incomplete log never ends without an error.
 */
export async function* followStepLog(
  client: Pick<ApiClient, "logs">,
  log: StepLog,
  { tailLines, ...read }: Pick<LogOptions, "tailLines" | "timestamps">,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const patience = new Patience(clock, signal);
  let place: LogPlace | undefined = tailLines === undefined ? logStart : undefined;
  let isFirst = true;
  for (;;) {
    const begun = clock.monotonic();
    let hasAnswered = false;
    let reading: PlacedReading | undefined;
    try {
      place ??= await tailPlace(openStepLog(client, log, { ...read, signal }), tailLines ?? 0);
      reading = new PlacedReading(place);
      for await (const chunk of openStepLog(client, log, { ...read, follow: true, signal })) {
        hasAnswered = true;
        const fresh = reading.take(chunk);
        if (fresh.length === 0) continue;
        patience.forgive();
        yield fresh;
      }
      signal.throwIfAborted();
      reading.end();
      return;
    } catch (thrown) {
      // A container that has not started has no output, and a Pod may be gone: accepted once, before any failure.
      if (isFirst && !hasAnswered && (isInvalid(thrown) || isNotFound(thrown))) return;
      // A connection that lasted resets the patience, even without new output.
      if (hasAnswered && clock.monotonic() - begun > mostFailures * reconnectMs) patience.forgive();
      await patience.after(thrown);
    }
    isFirst = false;
    place = reading?.place();
  }
}
