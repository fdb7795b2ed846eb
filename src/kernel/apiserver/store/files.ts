import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Puts a finished file in its place, durably: its content first, then its name. */
export async function replaceFile(finished: string, place: string): Promise<void> {
  await flush(finished);
  await rename(finished, place);
  await flush(dirname(place));
}

/** A directory's flush makes the names in it durable; it can only be opened for reading. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
