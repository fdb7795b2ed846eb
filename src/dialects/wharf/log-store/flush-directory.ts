import { open } from "node:fs/promises";

/** Makes the names in a directory durable: a new file is there after a power cut only when its directory says so. */
export async function flushDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
