import { drained } from "./slow-readers.ts";
import type { Exchange } from "./exchange.ts";

/** At the reader's pace. A failure after the first byte, or a closing server, cuts the connection. */
export async function sendStream(
  exchange: Exchange,
  contentType: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { response } = exchange;
  const signal = exchange.signal();
  response.statusCode = 200;
  response.setHeader("Content-Type", contentType);
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (signal.aborted) break;
    if (!response.write(chunk)) await drained(response);
  }
  // A normal end would look complete.
  if (signal.aborted) response.destroy();
  else response.end();
}
