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
  readonly hasEnded: () => boolean;
  readonly ended: Promise<unknown>;
  readonly signal: AbortSignal;
}

const pauseMs: Millis = 200;

/** Reads the step's log to its end and resumes where a connection broke. Streams may also end early without an error,
 * so only a reading that began after the program's end is the last one. */
export async function followPodLog(options: PodLogOptions): Promise<void> {
  const { client, namespace, name, clock, patience, hasEnded, ended, signal } = options;
  const place = new LogPlace();
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

/** Nodes return 400 shortly after the container has started. */
const isNotBegun = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.code === 400;

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
