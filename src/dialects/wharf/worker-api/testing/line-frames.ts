import { frameOf, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import type { LineFrames } from "../line-frames.ts";
import type { WorkerLine } from "../worker-messages.ts";

export const framesOf = (lines: readonly WorkerLine[]): LineFrames => ({
  bytes: Buffer.concat(
    lines.map(({ stepId, logId, time, message }) =>
      frameOf(wharfWorkerV1.StreamLogsResponseSchema, {
        stepId: BigInt(stepId),
        logId: BigInt(logId),
        ...(time === undefined ? {} : { timestamp: { seconds: BigInt(time.seconds), nanos: time.nanos } }),
        message,
      }),
    ),
  ),
  lines: lines.length,
});
