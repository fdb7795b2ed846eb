import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectories } from "#lib/base/index.node.ts";
import { codeOf } from "#lib/base/index.ts";

/** Closes a file if the work with it fails. */
export async function orClosed<T>(handle: FileHandle, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Readable by the owner's group, as all logs are. The pod's directory may have been removed meanwhile. */
export const openLogFile = (path: string): Promise<FileHandle> =>
  open(path, "a+", 0o640).catch(async (thrown: unknown) => {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
    await makeDirectories(dirname(path), 0o750);
    return open(path, "a+", 0o640);
  });
