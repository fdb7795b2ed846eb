import { type Clock, codeOf, type Logger, messageOf, type Millis, type Random, sleep } from "#lib/base/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import type { WorkerClient } from "../worker-api/worker-client.ts";
import type { BuildApi } from "./build-api.ts";

export interface AggregationParts {
  readonly worker: WorkerClient;
  readonly api: Pick<BuildApi, keyof BuildApi>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const [firstWait, longestWait]: readonly [Millis, Millis] = [500, 30_000];

const mayPass = (thrown: unknown): boolean =>
  thrown instanceof RpcError
    ? thrown.code === "UNAVAILABLE" || thrown.code === "INTERNAL"
    : !["wharf-refused", "wharf-unwanted", "wharf-unknown-build"].includes(codeOf(thrown) ?? "");

/** Retries until success; rejects on abort or final refusals. */
export async function insist<T>(
  { clock, random, log }: Pick<AggregationParts, "clock" | "random" | "log">,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
    try {
      return await run();
    } catch (thrown) {
      signal.throwIfAborted();
      if (!mayPass(thrown)) throw thrown;
      log.debug("a request is made again", { error: messageOf(thrown), after: wait });
    }
    await sleep(clock, wait * (0.5 + random() / 2), signal);
  }
}

/** Writes a line to step 0. The same `number` means the same line. */
export async function tellInLog(
  parts: AggregationParts,
  number: number,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const time = { seconds: Math.floor(parts.clock.now() / 1000), nanos: 0 };
  await insist(parts, signal, () => parts.api.putLines([{ stepId: 0, logId: number, time, message }], signal));
}
