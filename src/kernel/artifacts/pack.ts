import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Header, type Pack, pack } from "tar-stream";
import { hasCode, recover } from "#lib/base/index.ts";
import { ArtifactError, asArtifactError, mostEntries, tooManyEntries } from "./errors.ts";
import { staysInside } from "./links.ts";
import type { ArtifactWish, StoredArtifact } from "./words.ts";

export interface Packed extends Pick<StoredArtifact, "archive" | "executable"> {
  /** To be read once, to its end or not at all. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Fixed, so that equal trees are equal bytes. */
const gzipLevel = 6;
const chunkSize = 64 * 1024;

/** The tree is not trusted: no link is followed, no pipe waited for. */
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The bytes of `wish.path` below `root`; undefined if nothing is there. Directories become a tar.gz that depends on
 * names, contents, permission bits and links only, not on owners, times or order. Unsuitable files are an
 * `ArtifactError`, which may come while the bytes are read.
 */
export async function packArtifact(root: string, wish: ArtifactWish): Promise<Packed | undefined> {
  const path = join(root, wish.path);
  const found = await lstat(path).catch(recover(hasCode("ENOENT", "ENOTDIR"), undefined));
  if (found === undefined) return undefined;
  // Following a link would use the rights of this process.
  if ((await realpath(path)) !== join(await realpath(root), wish.path))
    throw new ArtifactError("ArtifactInvalid", `${wish.path} leads elsewhere by a link`);
  const archive = wish.archive ?? (found.isDirectory() ? "tar.gz" : "none");
  if (archive === "tar.gz") return { archive, bytes: archiveOf(path, wish.path) };
  if (found.isDirectory())
    throw new ArtifactError("ArtifactInvalid", `${wish.path} is a directory, which archive: none cannot store`);
  if (!found.isFile()) throw notStorable(wish.path);
  const isExecutable = (found.mode & 0o111) !== 0;
  return { ...(isExecutable ? { executable: true } : {}), bytes: fileBytes(path, wish.path) };
}

interface Packing {
  readonly archive: Pack;
  readonly room: () => Promise<void>;
  left: number;
}

/** In constant memory, at the reader's pace. Nothing is left open when it ends. */
async function* archiveOf(path: string, called: string): AsyncGenerator<Buffer, void> {
  const archive = pack();
  const zipped = createGzip({ level: gzipLevel });
  // A failure destroys the last stream, so that reading it throws.
  const piped = pipeline(archive, zipped).catch(() => undefined);
  const end = new AbortController();
  const room = async (): Promise<void> => {
    // The archive accepts entries without contents at once, so that they would pile up.
    if (zipped.writableNeedDrain) await once(zipped, "drain", { signal: end.signal });
  };
  // The root is called `.`, because a single file may be archived as well.
  const written = writeEntry({ archive, room, left: mostEntries }, path, ".", called).then(
    () => archive.finalize(),
    (thrown: unknown) => archive.destroy(asArtifactError(thrown)),
  );
  try {
    for await (const chunk of zipped) yield chunk as Buffer;
  } finally {
    end.abort();
    await Promise.all([piped, written]);
  }
}

/** `name` is the path in the archive, `called` the one for people. */
async function writeEntry(to: Packing, path: string, name: string, called: string): Promise<void> {
  if (to.left-- === 0) throw tooManyEntries();
  const found = await lstat(path);
  if (found.isSymbolicLink()) {
    const target = await readlink(path);
    if (!staysInside(name, target))
      throw new ArtifactError("ArtifactInvalid", `the link ${called} leads out of the artifact, to ${target}`);
    await add(to, { name, type: "symlink", mode: 0o777, linkname: target });
  } else if (found.isDirectory()) {
    await add(to, { name, type: "directory", mode: found.mode });
    for (const child of await namesIn(path, called))
      await writeEntry(to, join(path, child), name === "." ? child : `${name}/${child}`, `${called}/${child}`);
  } else if (found.isFile()) await writeFile(to, path, name, called);
  else throw notStorable(called);
}

async function add(
  { archive, room }: Packing,
  { mode, ...header }: Pick<Header, "name" | "type" | "mode"> & Partial<Header>,
  body?: AsyncIterable<Buffer>,
): Promise<void> {
  await room();
  // The bits of the type, which are not written, keep a mode of 0 from being taken for none.
  const typeAndRights = mode & (constants.S_IFMT | 0o777);
  const entry = { ...header, mode: typeAndRights, uid: 0, gid: 0, mtime: new Date(0) };
  if (body !== undefined) return pipeline(body, archive.entry(entry));
  await new Promise<void>((resolve, reject) => {
    archive.entry(entry, (failed) => (failed ? reject(failed) : resolve())).on("error", reject);
  });
}

/** In byte order. Names that are not UTF-8 would not be restored. */
async function namesIn(path: string, called: string): Promise<readonly string[]> {
  const names = (await readdir(path, { encoding: "buffer" })).sort((a, b) => Buffer.compare(a, b));
  return names.map((bytes) => {
    const name = bytes.toString("utf8");
    if (Buffer.from(name).equals(bytes)) return name;
    throw new ArtifactError("ArtifactInvalid", `${called} holds a name that is no UTF-8: ${JSON.stringify(name)}`);
  });
}

async function writeFile(to: Packing, path: string, name: string, called: string): Promise<void> {
  const handle = await openFile(path, called);
  try {
    const { size, mode } = await handle.stat();
    await add(to, { name, type: "file", mode, size }, exactly(size, handle, called));
  } finally {
    await handle.close();
  }
}

/** The size is written before the contents: a file that changes meanwhile cannot be stored. */
async function* exactly(size: number, handle: FileHandle, called: string): AsyncGenerator<Buffer, void> {
  let read = 0;
  for await (const chunk of chunksOf(handle)) {
    read += chunk.length;
    if (read > size) break;
    yield chunk;
  }
  if (read !== size) throw new ArtifactError("ArtifactInvalid", `${called} changes while it is stored`);
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
  try {
    if (!(await handle.stat()).isFile()) throw notStorable(called);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
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
