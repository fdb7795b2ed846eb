import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { hasCode, recover } from "#lib/base/index.ts";
import type { ArtifactSource } from "./store-artifact.ts";

const chunkBytes = 256 * 1024;

/** Regular files below a directory by name; none if it does not exist. Links are followed only to files inside: a step
 * must not make the worker read other files. */
export async function* artifactFiles(root: string): AsyncGenerator<ArtifactSource, void> {
  const home = await realpath(root).catch(recover(hasCode("ENOENT"), undefined));
  if (home !== undefined) yield* filesBelow(home, "");
}

/** Links to directories are not followed, so there are no cycles. */
async function* filesBelow(home: string, folder: string): AsyncGenerator<ArtifactSource, void> {
  const entries = await readdir(join(home, folder), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(home, name);
    else if (entry.isFile() || (entry.isSymbolicLink() && (await isFileInside(home, join(home, name)))))
      yield { name, open: () => bytesOf(home, join(home, name)) };
  }
}

async function insideOf(home: string, path: string): Promise<string | undefined> {
  const target = await realpath(path).catch(() => undefined);
  return target?.startsWith(`${home}${sep}`) === true ? target : undefined;
}

async function isFileInside(home: string, path: string): Promise<boolean> {
  const target = await insideOf(home, path);
  if (target === undefined) return false;
  // A socket, or a file that was removed or replaced. Unreadable files are errors.
  const handle = await openFile(target).catch(recover(hasCode("ENXIO", "ENOENT", "ELOOP"), undefined));
  try {
    return (await handle?.stat())?.isFile() === true;
  } finally {
    await handle?.close();
  }
}

/** O_NONBLOCK: a pipe without a writer must not block. */
const openFile = (path: string) => open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);

/** Checked again when opened, because the step may have replaced the file. */
async function* bytesOf(home: string, path: string): AsyncGenerator<Buffer, void> {
  const target = await insideOf(home, path);
  if (target === undefined) return;
  const handle = await openFile(target);
  try {
    if (!(await handle.stat()).isFile()) return;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
