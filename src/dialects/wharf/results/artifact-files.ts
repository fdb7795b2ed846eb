import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import type { ArtifactSource } from "./store-artifact.ts";

const chunkBytes = 256 * 1024;

/**
 * Every regular file below a directory, in the order of their names; none when there is no such directory. A symbolic link to a file is that
 * file when it lies inside, else it is passed over, as are links to directories, sockets and devices: a step must not make the
 * worker read what is not the step's.
 */
export async function* artifactFiles(root: string): AsyncGenerator<ArtifactSource, void> {
  const home = await realpath(root).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  if (home !== undefined) yield* filesBelow(home, "");
}

/** Links to directories are not entered, so that there are no circles. */
async function* filesBelow(home: string, folder: string): AsyncGenerator<ArtifactSource, void> {
  const entries = await readdir(join(home, folder), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(home, name);
    else if (entry.isFile() || (entry.isSymbolicLink() && (await isFileInside(home, join(home, name)))))
      yield { name, open: () => bytesOf(home, join(home, name)) };
  }
}

/** Where a path really leads, if that is inside. Where that cannot be found out it leads nowhere, in a circle, or through what is not the step's. */
async function insideOf(home: string, path: string): Promise<string | undefined> {
  const target = await realpath(path).catch(() => undefined);
  return target?.startsWith(`${home}${sep}`) === true ? target : undefined;
}

async function isFileInside(home: string, path: string): Promise<boolean> {
  const target = await insideOf(home, path);
  if (target === undefined) return false;
  const handle = await openFile(target).catch((thrown: unknown) => {
    // A socket, or what has just gone or become a link. A file that is there and cannot be read is no reason to do without it.
    if (["ENXIO", "ENOENT", "ELOOP"].includes(codeOf(thrown) ?? "")) return undefined;
    throw thrown;
  });
  try {
    return (await handle?.stat())?.isFile() === true;
  } finally {
    await handle?.close();
  }
}

/** A pipe without a writer must not hold us up, and the last name is not followed. */
const openFile = (path: string) => open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);

/** Looked at again when it is opened: the step may have put something else in its place. */
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
