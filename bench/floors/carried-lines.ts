import { open } from "node:fs/promises";
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { encodeLogFrames } from "#dialects/wharf/worker-api/log-frames.ts";
import { carriedSteps, printedChunks } from "../ours/carried-lines.ts";

// Floor of B9e: the bytes that a worker sends are sent from a file over HTTP/2, put over HTTP/2 into another process as they come, in batches as large as an
// aggregator's and as many at once, and appended to a file that is flushed as often as wharf-api's. Nobody looks at them. One process for each of the three.

const pieceBytes = 64 * 1024;
const batchBytes = 1024 * 1024;
const mostInFlight = 4;
const flushBytes = 4 * 1024 * 1024;
const windowBytes = 1024 * 1024;

interface Place {
  readonly dir: string;
}

/** First process: the frames of a build in a file, and whoever asks gets them. Answers where, and how many bytes they are. */
export async function source({ dir, lines }: Place & { readonly lines: number }) {
  const path = join(dir, "frames");
  const file = await open(path, "w");
  for (let stepId = 1; stepId <= carriedSteps; stepId++) {
    let firstId = 1;
    for (const chunk of printedChunks(lines)) {
      const stamped = chunk.toString("latin1").replace(/^/gm, `${new Date().toISOString()} `).slice(0, -25);
      const count = Math.min(500, lines - firstId + 1);
      const frames = encodeLogFrames({ stepId, firstId, lines: count, bytes: Buffer.from(stamped, "latin1") });
      await file.write(frames);
      firstId += count;
    }
  }
  const { size } = await file.stat();
  await file.close();
  return { size, port: await serve((stream) => send(stream, path)) };
}

async function send(stream: ServerHttp2Stream, path: string): Promise<void> {
  stream.respond({ ":status": 200 });
  const file = await open(path, "r");
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(pieceBytes);
    const { bytesRead } = await file.read(piece, 0, pieceBytes);
    if (bytesRead === 0) break;
    if (!stream.write(piece.subarray(0, bytesRead))) await new Promise((resolve) => stream.once("drain", resolve));
  }
  await file.close();
  stream.end();
}

/** Third process: appends what it is given. A request for `/flush` is answered when everything is on the disk, with the length of the file. */
export async function sink({ dir }: Place): Promise<number> {
  const file = await open(join(dir, "kept"), "w");
  let [end, unflushed, flushing] = [0, 0, Promise.resolve()];
  const flush = (): Promise<void> => {
    unflushed = 0;
    return (flushing = flushing.then(() => file.datasync()));
  };
  return await serve(async (stream, path) => {
    for await (const piece of stream) {
      const bytes = piece as Buffer;
      const at = end;
      end += bytes.length;
      unflushed += bytes.length;
      await file.write(bytes, 0, bytes.length, at);
    }
    if (path === "/flush") await flush();
    else if (unflushed >= flushBytes) void flush();
    stream.respond({ ":status": 200 });
    stream.end(`${end}`);
    if (path !== "/flush") return;
    await file.truncate(0);
    end = 0;
  });
}

/** Second process: carries everything from the first to the third. Answers how many bytes are there then. */
export async function carry({ from, to }: { readonly from: number; readonly to: number }): Promise<number> {
  const [reader, writer] = [open2(from), open2(to)];
  const inFlight = new Set<Promise<unknown>>();
  let [batch, length]: [Buffer[], number] = [[], 0];
  const put = (): void => {
    const answer: Promise<unknown> = ask(writer, "/", Buffer.concat(batch)).finally(() => inFlight.delete(answer));
    inFlight.add(answer);
    [batch, length] = [[], 0];
  };
  const stream = reader.request({ ":path": "/" });
  stream.end();
  for await (const piece of stream) {
    batch.push(piece as Buffer);
    length += (piece as Buffer).length;
    if (length < batchBytes && inFlight.size > 0) continue;
    while (inFlight.size >= mostInFlight) await Promise.race(inFlight);
    put();
  }
  if (length > 0) put();
  await Promise.all(inFlight);
  const size = Number(await ask(writer, "/flush", Buffer.alloc(0)));
  reader.close();
  writer.close();
  return size;
}

const open2 = (port: number): ClientHttp2Session => {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowBytes } });
  session.once("connect", () => session.setLocalWindowSize(windowBytes));
  return session;
};

async function ask(session: ClientHttp2Session, path: string, body: Buffer): Promise<string> {
  const stream = session.request({ ":method": "PUT", ":path": path });
  stream.end(body);
  return await text(stream);
}

/** The port where streams are answered. */
async function serve(answer: (stream: ServerHttp2Stream, path: string) => Promise<void>): Promise<number> {
  const server = createServer({ settings: { initialWindowSize: windowBytes } });
  server.on("stream", (stream, headers) => {
    answer(stream, String(headers[":path"])).catch((thrown: unknown) => stream.destroy(thrown as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
