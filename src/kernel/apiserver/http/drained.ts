import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Resolves when the reader has taken what was written, or has gone away. */
export async function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return;
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    // Takes back the listener of the one that did not happen.
    over.abort();
  }
}
