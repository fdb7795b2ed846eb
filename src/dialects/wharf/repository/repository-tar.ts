import { constants, createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "#lib/base/index.ts";
import { isGone, unreadable } from "./errors.ts";
import type { OverlayFile, RepositoryEntry } from "./entry.ts";
import { endOfArchive, headerOf, paddingOf } from "./tar-format.ts";

const chunkSize = 256 * 1024;

export interface TarForm {
  readonly isWritable: boolean;
  readonly below: string;
}

export interface TarSource {
  readonly directory: string;
  readonly form: TarForm;
  readonly signal: AbortSignal;
  /** Called for vanished files. */
  readonly onGone: (path: string) => void;
}

/** Writes an archive without its end marker. */
export async function writeTar(entries: readonly RepositoryEntry[], source: TarSource, path: string): Promise<string> {
  const draft = `${path}.next`;
  await pipeline(inChunks(archiveOf(entries, source)), createWriteStream(draft, { mode: 0o600 }), {
    signal: source.signal,
  });
  await rename(draft, path);
  return path;
}

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

function formed(entry: RepositoryEntry, { isWritable, below }: TarForm): RepositoryEntry {
  const { kind, mode } = entry;
  const extra = kind === "directory" || (mode & 0o100) !== 0 ? 0o777 : 0o666;
  const path = below === "" ? entry.path : `${below}/${entry.path}`;
  return { ...entry, path, mode: isWritable ? mode | extra : mode };
}

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

/** Does not follow links or block on pipes. Undefined if the file is gone. */
async function openFile(path: string, called: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (isGone(thrown)) return undefined;
    throw unreadable(called, messageOf(thrown), thrown);
  }
}

/** A file of the current size; a file that shrinks while it is read is an error. */
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
