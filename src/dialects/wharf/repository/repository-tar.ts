import { constants, createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "#lib/base/index.ts";
import { isGone, unreadable } from "./errors.ts";
import type { OverlayFile, RepositoryEntry } from "./repository.ts";
import { endOfArchive, headerOf, paddingOf } from "./tar-format.ts";

/** Bytes of small files are put together, so that a write has about this size. */
const chunkSize = 256 * 1024;

/** How entries are written. */
export interface TarForm {
  /** Everybody may change everything. */
  readonly isWritable: boolean;
  /** The directory that all names begin with; empty: none. */
  readonly below: string;
}

export interface TarSource {
  /** What entries are relative to. */
  readonly directory: string;
  readonly form: TarForm;
  readonly signal: AbortSignal;
  /** Told of a file that is gone. */
  readonly onGone: (path: string) => void;
}

/** Writes an archive of entries without its end; answers its path when it is whole. */
export async function writeTar(entries: readonly RepositoryEntry[], source: TarSource, path: string): Promise<string> {
  const draft = `${path}.next`;
  await pipeline(inChunks(archiveOf(entries, source)), createWriteStream(draft, { mode: 0o600 }), {
    signal: source.signal,
  });
  await rename(draft, path);
  return path;
}

/** An archive without end, the overlay behind it, and the end. */
export async function* streamTar(
  path: string,
  overlay: readonly OverlayFile[],
  form: TarForm,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of createReadStream(path, { highWaterMark: chunkSize })) yield chunk as Buffer;
  for (const { path: name, bytes, mode } of overlay) {
    const entry = { path: name, kind: "file", mode, modified: 0, size: bytes.length } as const;
    yield Buffer.concat([headerOf(formed(entry, form)), bytes, paddingOf(bytes.length)]);
  }
  yield endOfArchive;
}

/** Who may enter directories, and execute what one may execute, is everybody, once everybody may write. Links have no rights of their own. */
function formed(entry: RepositoryEntry, { isWritable, below }: TarForm): RepositoryEntry {
  const { kind, mode } = entry;
  const extra = kind === "directory" || (mode & 0o100) !== 0 ? 0o777 : 0o666;
  const path = below === "" ? entry.path : `${below}/${entry.path}`;
  return { ...entry, path, mode: isWritable ? mode | extra : mode };
}

/** Headers and contents, in the order of the entries. One file is open at a time. */
async function* archiveOf(
  entries: readonly RepositoryEntry[],
  { directory, form, signal, onGone }: TarSource,
): AsyncGenerator<Buffer, void> {
  for (const entry of entries) {
    signal.throwIfAborted();
    if (entry.kind !== "file") yield headerOf(formed(entry, form));
    else {
      const handle = await openFile(entry.source ?? join(directory, entry.path), entry.path);
      if (handle === undefined) onGone(entry.path);
      else
        try {
          yield* fileOf(formed(entry, form), handle);
        } finally {
          await handle.close();
        }
    }
  }
}

/** Neither a link that has taken the place of a file nor a pipe is waited for or followed. Undefined when there is nothing any more. */
async function openFile(path: string, called: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (isGone(thrown)) return undefined;
    throw unreadable(called, messageOf(thrown), thrown);
  }
}

/** A file with the size it has now. What is added meanwhile is not read; what is taken away is a failure, because nobody knows what is missing. */
async function* fileOf(entry: RepositoryEntry, handle: FileHandle): AsyncGenerator<Buffer, void> {
  const { size } = await handle.stat();
  yield headerOf({ ...entry, size });
  for (let left = size; left > 0; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, chunkSize)), 0);
    if (bytesRead === 0) throw unreadable(entry.path, "it becomes shorter while it is read");
    yield buffer.subarray(0, bytesRead);
    left -= bytesRead;
  }
  yield paddingOf(size);
}

/** The same bytes in fewer pieces. */
async function* inChunks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length < chunkSize) continue;
    yield Buffer.concat(waiting, length);
    waiting = [];
    length = 0;
  }
  yield Buffer.concat(waiting, length);
}
