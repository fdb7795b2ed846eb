import type { FileHandle } from "node:fs/promises";

/** Closes a file if the work with it fails. */
export async function orClosed<T>(handle: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}
