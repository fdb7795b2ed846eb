import { Client, credentials } from "@grpc/grpc-js";
import { newPush } from "#dialects/tinkerbell/agent/log-push.ts";
import { logSink } from "#dialects/tinkerbell/agent/log-sink.ts";
import { systemClock } from "#lib/base/index.ts";
import { RpcChannel } from "#kernel/rpc/index.ts";
import { line, linePath, linesOfChunk } from "../ours/log-lines.ts";
import type { LoggedAction } from "../ours/log-server.ts";

// B9: the log of one action, as Slipway's agent sends it (batches of 1 MiB in chunks of 64 KiB, a few of them at once), and one
// message for each line.

interface Sent {
  readonly lines: number;
  readonly ms: number;
}

const chunksOfBatch = 16;
const patience = { time: 30_000, timeout: 10_000 };
let sink: ReturnType<typeof logSink> | undefined;
let push = newPush("", "");

/** Sends batches for so long, as many at once as the agent does. Every one is acknowledged whole. */
export async function chunks({ port, workflow, action, ms }: LoggedAction & { readonly ms: number }): Promise<Sent> {
  const { signal } = new AbortController();
  if (sink === undefined) {
    const options = { address: `127.0.0.1:${port}`, keepalive: patience, connectLimit: 5000, clock: systemClock };
    sink = logSink(await RpcChannel.open(options, signal), {}, { overlap: true });
    push = newPush(workflow, action);
  }
  const data = Buffer.concat(Array.from({ length: linesOfChunk }, (_, at) => line(at)));
  const batch = Array.from({ length: chunksOfBatch }, () => ({ stream: "stdout" as const, at: Date.now(), data }));
  const begin = performance.now();
  const underWay: { readonly seq: number; readonly answer: Promise<number | "refused"> }[] = [];
  let lines = 0;
  for (;;) {
    if (performance.now() - begin < ms && underWay.length < sink.mostCalls) {
      const answer = sink.push(push, batch, signal);
      push = { ...push, seq: push.seq + batch.length };
      underWay.push({ seq: push.seq, answer });
      continue;
    }
    const oldest = underWay.shift();
    if (oldest === undefined) break;
    const answer = await oldest.answer;
    if (answer === "refused" || answer < oldest.seq)
      throw new Error(`${answer} instead of ${oldest.seq} chunks were acknowledged`);
    lines += batch.length * linesOfChunk;
  }
  return { lines, ms: performance.now() - begin };
}

let client: Client | undefined;

/** Sends lines for so long on one stream, as fast as they are taken; over when the stream is answered. */
export async function lines({ port, ms }: { readonly port: number; readonly ms: number }): Promise<Sent> {
  client ??= new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const sender = client;
  const begin = performance.now();
  let sent = 0;
  await new Promise<void>((resolve, reject) => {
    const call = sender.makeClientStreamRequest(linePath, same, same, (thrown) =>
      thrown === null ? resolve() : reject(thrown),
    );
    const more = (): void => {
      while (performance.now() - begin < ms) if (!call.write(line(sent++))) return void call.once("drain", more);
      call.end();
    };
    more();
  });
  return { lines: sent, ms: performance.now() - begin };
}
