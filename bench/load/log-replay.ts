import { tcpConnect } from "#dialects/wharf/worker-api/tcp-connect.ts";
import { countedLines, readLines } from "#dialects/wharf/worker-api/line-frames.ts";
import { FramedChannel } from "#kernel/rpc/index.ts";
import { replayLines } from "../ours/replay-lines.ts";

/** B9c: reads the whole log from its beginning, again and again for so long. Every line comes once, in its place, the last one as it was printed. */
export async function replay({ port, ms }: { readonly port: number; readonly ms: number }) {
  const channel = new FramedChannel({ connect: tcpConnect(`127.0.0.1:${port}`) });
  const { signal } = new AbortController();
  const begin = performance.now();
  let ops = 0;
  do {
    let seen = 0;
    let last = countedLines(Buffer.alloc(0));
    for await (const frames of channel.frames("/wharf.worker.v1.Worker/StreamLogs", Buffer.alloc(5), signal)) {
      last = countedLines(frames);
      seen += last.lines;
    }
    const line = readLines(last).at(-1);
    if (seen !== replayLines || line?.logId !== seen || line.message.length !== 99)
      throw new Error(`expected ${replayLines} lines, found ${seen}, the last of them ${line?.logId}`);
    ops += seen;
  } while (performance.now() - begin < ms);
  channel.close();
  return { ops, ms: performance.now() - begin };
}
