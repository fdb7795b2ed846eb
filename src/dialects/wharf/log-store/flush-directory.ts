import { open } from "node:fs/promises";

/** Makes new names in a directory durable. */
export async function flushDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
