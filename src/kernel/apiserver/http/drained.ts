import type { ServerResponse } from "node:http";

/**
 * Resolves when the reader has taken what was written, or has gone away; at once when nothing is held back. Never rejects: whether the
 * reader is still there is for the writer to look at. Without it a slow reader would make the process keep all of a log or list.
 */
export function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  // Bare listeners: a long list waits a hundred times, and signals cost it a tenth of its time.
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
}
