import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { codeOf } from "#lib/base/index.ts";
import { endOfArchive, paddingAfter, tarHeader } from "#lib/tar/index.ts";
import { ArtifactError } from "./errors.ts";
import { staysInside } from "./links.ts";
import type { ArtifactWish, StoredArtifact } from "./words.ts";

/** An artifact that is about to be stored. */
export interface Packed extends Pick<StoredArtifact, "archive" | "executable"> {
  /** To be read once, to its end or not at all. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** More entries than this are no artifact but a mistake; each costs a few system calls. */
const mostEntries = 1_000_000;
/** Fixed, so that equal trees are equal bytes. */
const gzipLevel = 6;
const chunkSize = 64 * 1024;

/** Whoever has written the tree may have put anything into it: no link is followed, no pipe waited for. */
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * What stands at `wish.path` below `root`, as bytes; undefined when nothing does. Directories become a tar.gz that depends on names,
 * contents, permission bits and links, and on nothing else: neither on owners, nor on times, nor on the order of the directory. What
 * has no place in an artifact is an `ArtifactError`, which may come while the bytes are read.
 */
export async function packArtifact(root: string, wish: ArtifactWish): Promise<Packed | undefined> {
  const path = join(root, wish.path);
  const found = await lstat(path).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
    throw thrown;
  });
  if (found === undefined) return undefined;
  // None of the parts may be a link: whoever follows it does so with the rights of this process.
  if ((await realpath(path)) !== join(await realpath(root), wish.path))
    throw new ArtifactError("ArtifactInvalid", `${wish.path} leads elsewhere by a link`);
  const archive = wish.archive ?? (found.isDirectory() ? "tar.gz" : "none");
  if (archive === "tar.gz") return { archive, bytes: gzipped(tarOf(path, wish.path)) };
  if (found.isDirectory())
    throw new ArtifactError("ArtifactInvalid", `${wish.path} is a directory, which archive: none cannot store`);
  if (!found.isFile()) throw notStorable(wish.path);
  const isExecutable = (found.mode & 0o111) !== 0;
  return { ...(isExecutable ? { executable: true } : {}), bytes: fileBytes(path, wish.path) };
}

/** In constant memory, at the pace of who reads. */
async function* gzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  // What fails on the way destroys the last stream with it, so that reading it throws.
  const zipped = pipeline(Readable.from(source), createGzip({ level: gzipLevel }), () => undefined);
  for await (const chunk of zipped) yield chunk as Buffer;
}

/** The root itself is called `.`: a file may be archived as well. */
async function* tarOf(path: string, called: string): AsyncGenerator<Buffer, void> {
  const counter = { left: mostEntries };
  yield* entryOf(path, ".", called, counter);
  yield endOfArchive;
}

/** One entry with everything below it. `name` is its path in the archive, `called` what people know it by. */
async function* entryOf(
  path: string,
  name: string,
  called: string,
  counter: { left: number },
): AsyncGenerator<Buffer, void> {
  if (counter.left-- === 0)
    throw new ArtifactError("ArtifactTooLarge", `more than ${mostEntries} files and directories`);
  const found = await lstat(path);
  const mode = found.mode & 0o777;
  if (found.isSymbolicLink()) {
    const target = await readlink(path);
    if (!staysInside(name, target))
      throw new ArtifactError("ArtifactInvalid", `the link ${called} leads out of the artifact, to ${target}`);
    yield tarHeader({ path: name, type: "link", mode: 0o777, size: 0, target });
  } else if (found.isDirectory()) {
    yield tarHeader({ path: name, type: "directory", mode, size: 0 });
    for (const child of await namesIn(path, called))
      yield* entryOf(join(path, child), name === "." ? child : `${name}/${child}`, `${called}/${child}`, counter);
  } else if (found.isFile()) yield* fileEntry(path, name, called);
  else throw notStorable(called);
}

/** In the order of their bytes. Names that are no text would not come back as they were. */
async function namesIn(path: string, called: string): Promise<readonly string[]> {
  const names = (await readdir(path, { encoding: "buffer" })).sort((a, b) => Buffer.compare(a, b));
  return names.map((bytes) => {
    const name = bytes.toString("utf8");
    if (Buffer.from(name).equals(bytes)) return name;
    throw new ArtifactError("ArtifactInvalid", `${called} holds a name that is no UTF-8: ${JSON.stringify(name)}`);
  });
}

/** The size is written before the contents, so that a file that changes meanwhile cannot be stored. */
async function* fileEntry(path: string, name: string, called: string): AsyncGenerator<Buffer, void> {
  const handle = await openFile(path, called);
  try {
    const { size, mode } = await handle.stat();
    yield tarHeader({ path: name, type: "file", mode: mode & 0o777, size });
    let read = 0;
    for await (const chunk of chunksOf(handle)) {
      read += chunk.length;
      if (read > size) break;
      yield chunk;
    }
    if (read !== size) throw new ArtifactError("ArtifactInvalid", `${called} changes while it is stored`);
    yield Buffer.alloc(paddingAfter(size));
  } finally {
    await handle.close();
  }
}

async function* fileBytes(path: string, called: string): AsyncGenerator<Buffer, void> {
  const handle = await openFile(path, called);
  try {
    yield* chunksOf(handle);
  } finally {
    await handle.close();
  }
}

async function openFile(path: string, called: string): Promise<FileHandle> {
  const handle = await open(path, reading);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notStorable(called);
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer, void> {
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

const notStorable = (called: string): ArtifactError =>
  new ArtifactError("ArtifactInvalid", `${called} is neither a file nor a directory nor a link`);
