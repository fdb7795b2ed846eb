import { dirname } from "node:path";
import { makeDirectories } from "#lib/base/index.node.ts";
import { DirectoryWatch } from "./directory-watch.ts";
import { lookAt } from "./log-files.ts";
import { readReceived } from "./received-state.ts";

/** Aborts when a received log, maybe of another process, is complete or gone; looks until `signal` aborts. */
export async function endOfReceived(path: string, signal: AbortSignal): Promise<AbortSignal> {
  const end = new AbortController();
  const directory = dirname(path);
  await makeDirectories(directory, 0o750);
  const watch = new DirectoryWatch(directory, [signal]);
  const look = async (): Promise<void> => {
    try {
      for (;;) {
        await watch.changed();
        const state = await readReceived(path);
        if (signal.aborted || state?.isEnded === true || (await lookAt(directory)) === undefined) return;
      }
    } finally {
      watch.close();
      end.abort();
    }
  };
  // A directory that cannot be read is not waited for.
  look().catch(() => undefined);
  return end.signal;
}
