import { once } from "node:events";
import { parseRange } from "#kernel/doors/index.ts";
import { refusal, Refused } from "../failure.ts";
import type { Call } from "./call.ts";

export interface Bytes {
  readonly size: number;
  /** Bytes from `start` up to `end`, which is not included. */
  readonly read: (start: number, end: number) => AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Streams bytes at the client's pace, with ranges. Throws 416 for a range beyond the end. */
export function sendBytes(
  { method, request, response, path }: Pick<Call, "method" | "request" | "response" | "path">,
  bytes: Bytes,
): void {
  const { size, read, headers = {} } = bytes;
  const range = parseRange(request.headers.range, size);
  if (range === "bad") {
    response.setHeader("Content-Range", `bytes */${size}`);
    throw new Refused(refusal(416, method, path[0] ?? "", path[1] ?? "", `expected a part of ${size} bytes`));
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  response.writeHead(range === undefined ? 200 : 206, {
    "Content-Type": "application/octet-stream",
    "Content-Length": last - first + 1,
    "Accept-Ranges": "bytes",
    "X-Content-Type-Options": "nosniff",
    ...headers,
    ...(range === undefined ? {} : { "Content-Range": `bytes ${first}-${last}/${size}` }),
  });
  if (method === "HEAD" || last < first) response.end();
  else void pump(read(first, last + 1), response);
}

async function pump(pieces: AsyncIterable<Uint8Array>, response: Call["response"]): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    for await (const piece of pieces) {
      if (gone.signal.aborted) return;
      if (!response.write(piece)) await once(response, "drain", { signal: gone.signal });
    }
    response.end();
  } catch {
    // The headers are sent: cutting the connection is the only way to report it.
    response.destroy();
  }
}
