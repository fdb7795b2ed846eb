import type { FileHandle } from "node:fs/promises";

/** What is done with a file first, by whoever has opened it for somebody else: it is closed when that fails. */
export async function orClosed<T>(handle: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}
