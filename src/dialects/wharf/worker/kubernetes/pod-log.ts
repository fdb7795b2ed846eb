import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { ApiError, isNotFound, Pod } from "#kernel/model/index.ts";
import type { Patience } from "../patience.ts";
import type { StepJob } from "../step-runtime.ts";
import { LogPlace } from "./log-place.ts";
import { podContainers } from "./step-pod.ts";

export interface PodLogOptions {
  readonly client: Pick<ApiClient, "logs">;
  readonly namespace: string;
  readonly name: string;
  readonly log: StepJob["log"];
  readonly clock: Clock;
  readonly patience: Patience;
  /** Whether nothing more is printed: the program has ended, or its Pod is gone. */
  readonly hasEnded: () => boolean;
  /** Resolves then, and rejects when that cannot be known any more, which ends the reading. */
  readonly ended: Promise<unknown>;
  /** Ends the reading with its reason. */
  readonly signal: AbortSignal;
}

/** A stream that ends although the program runs is opened again; not as fast as it can end. */
const pauseMs: Millis = 200;

/**
 * Reads what the step prints to its end, over streams that are cut off: each reading goes on where the one before was. A stream may also end in order
 * in the middle, when something between has had enough, so that only a reading counts as the last that was begun after the end of the program. A
 * Pod that is gone has no more to tell.
 */
export async function followPodLog(options: PodLogOptions): Promise<void> {
  const { client, namespace, name, clock, patience, hasEnded, ended, signal } = options;
  const place = new LogPlace();
  /** Since when nothing has been heard. */
  let failing: Millis | undefined;
  for (;;) {
    const isLast = hasEnded();
    const { since } = place;
    const request: LogOptions = { container: podContainers.step, timestamps: true, follow: !isLast, signal };
    const stream = client.logs(
      { type: Pod, namespace, name },
      since === undefined ? request : { ...request, sinceTime: since },
    );
    try {
      await passOn(stream, place, options.log, () => (failing = undefined));
      if (isLast) return;
      failing = undefined;
    } catch (thrown) {
      signal.throwIfAborted();
      if (isNotFound(thrown)) return;
      if (!patience.isAway(thrown) && !isNotBegun(thrown)) throw thrown;
      failing ??= clock.monotonic();
      if (clock.monotonic() - failing >= patience.longest) throw patience.lost(thrown);
    }
    await Promise.race([ended, sleep(clock, pauseMs, signal)]);
    signal.throwIfAborted();
  }
}

/** What nodes say for a moment of a container that has just begun. */
const isNotBegun = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.code === 400;

/** At the pace of the log. */
async function passOn(
  stream: AsyncIterable<Uint8Array>,
  place: LogPlace,
  log: StepJob["log"],
  onBytes: () => void,
): Promise<void> {
  const reading = place.begin();
  for await (const chunk of stream) {
    onBytes();
    let mustWait = false;
    for (const { bytes, time } of reading.take(Buffer.from(chunk)))
      mustWait = !log.append("stdout", bytes, time) || mustWait;
    if (mustWait) await log.drained();
  }
}
