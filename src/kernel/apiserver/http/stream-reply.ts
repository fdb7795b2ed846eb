import { drained } from "./drained.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Bytes as they come, at the reader's pace. What fails after the first of them cuts the connection, because a status line cannot be
 * taken back; so does a server that closes. Ends with the chunks, or with the reader.
 */
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
  // What ended in good order looks complete, and nobody would come back for the rest.
  if (signal.aborted) response.destroy();
  else response.end();
}
