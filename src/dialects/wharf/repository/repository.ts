// Steps get one state of the project, taken once, and never see each other's changes.

import { rm, chmod, copyFile, lutimes, symlink, writeFile, type FileHandle, open, rename } from "node:fs/promises";
import { join, dirname } from "node:path";
import type { OverlayFile, RepositoryEntry, RepositoryWarning } from "./entry.ts";
import type { ListOptions } from "./list-names.ts";
import { observeEntries } from "./observe-entries.ts";
import { constants, copyFileSync, mkdirSync, utimesSync, createReadStream, createWriteStream } from "node:fs";
import { inParallel, messageOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { isGone, unreadable } from "./errors.ts";
import { pipeline } from "node:stream/promises";
import { endOfArchive, headerOf, paddingOf } from "./tar-format.ts";

/** The project as each step of a build gets it. */
export interface Repository {
  readonly directory: string;
  /** Sorted, so that directories precede their contents. */
  readonly entries: readonly RepositoryEntry[];
  /** Creates an independent copy; the caller removes it, also after a failure. */
  copyTo(target: string, overlay: readonly OverlayFile[], signal: AbortSignal): Promise<void>;
  /** An uncompressed archive with the overlay at its end, where it wins. */
  tar(overlay: readonly OverlayFile[], options?: TarOptions): AsyncIterable<Buffer>;
}

export interface TarOptions {
  /** Everyone may write: for images without root. */
  readonly isWritable?: boolean;
  readonly below?: string;
}

export interface RepositoryOptions extends ListOptions {
  readonly work: string;
  /** Only one step needs it: copies are made from the project directly. */
  readonly isForOne?: boolean;
  readonly onWarning: (warning: RepositoryWarning) => void;
}

/** The project is copied when a step first needs it. Rejects with `repository-unreadable`; unusual and vanished files
 * are left out with a warning. */
export async function openRepository(options: RepositoryOptions): Promise<Repository> {
  const { directory, work, signal, isForOne = false, onWarning } = options;
  const entries = await observeEntries(options, onWarning);
  const gone = new Set<string>();
  const lose = (path: string): void => {
    gone.add(path);
    onWarning({ code: "not-copied", message: `${path} is not copied: it disappeared during the copy` });
  };
  const snapshot = once(async () => {
    const target = join(work, "snapshot");
    await rm(target, { recursive: true, force: true });
    await copyEntries(entries, { from: directory, to: target, signal, onGone: lose });
    return target;
  });
  const archives = new Map<string, () => Promise<string>>();
  const archive = (form: TarForm): Promise<string> => {
    const { isWritable, below } = form;
    const name = `repo${isWritable ? "-writable" : ""}${below === "" ? "" : `-${below.replaceAll("/", "-")}`}.tar`;
    const made =
      archives.get(name) ?? once(() => writeTar(entries, { directory, form, signal, onGone: lose }, join(work, name)));
    archives.set(name, made);
    return made();
  };
  return {
    directory,
    entries,
    async copyTo(target, overlay, own) {
      const from = isForOne ? directory : await snapshot();
      const replaced = new Set([...gone, ...overlay.map(({ path }) => path)]);
      const kept = replaced.size === 0 ? entries : entries.filter(({ path }) => !replaced.has(path));
      const of = isForOne ? { onGone: lose } : { isSnapshot: true };
      await copyEntries(kept, { from, to: target, signal: own, ...of });
      await writeOverlay(overlay, target);
    },
    async *tar(overlay, { isWritable = false, below = "" } = {}) {
      const form = { isWritable, below };
      yield* streamTar(await archive(form), overlay, form);
    },
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Files copied at once. */
const width = 16;

/** Smaller files are copied synchronously, which is cheaper than a thread. */
const smallBytes = 64 * 1024;

/** Small files between two turns of the event loop. */
const atOnce = 128;

interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly signal: AbortSignal;
  readonly isSnapshot?: boolean;
  /** Called for vanished files; if absent they are errors. */
  readonly onGone?: (path: string) => void;
}

/** Copies entries, which are sorted by path, into a new directory with modes and times; blocks are shared if the file
 * system can. */
async function copyEntries(entries: readonly RepositoryEntry[], options: CopyOptions): Promise<void> {
  const { from, to, signal, isSnapshot = false, onGone } = options;
  await makeDirectories(to, 0o700);
  const directories = entries.filter(({ kind }) => kind === "directory");
  // Parents come first. Read-only directories get their mode at the end.
  for (const [index, { path, mode }] of directories.entries()) {
    mkdirSync(join(to, path), { mode: mode | 0o700 });
    if (index % atOnce === atOnce - 1) await new Promise(setImmediate);
  }
  let done = 0;
  // No hard links: the step writes to its copy.
  const copy = async (entry: RepositoryEntry): Promise<void> => {
    signal.throwIfAborted();
    const target = join(to, entry.path);
    const source = isSnapshot ? join(from, entry.path) : (entry.source ?? join(from, entry.path));
    const isSmall = entry.size <= smallBytes;
    const mode = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
    try {
      if (isSmall) copyFileSync(source, target, mode);
      else await copyFile(source, target, mode);
    } catch (thrown) {
      if (!isGone(thrown) || onGone === undefined) throw unreadable(entry.path, messageOf(thrown), thrown);
      return onGone(entry.path);
    }
    utimesSync(target, entry.modified / 1000, entry.modified / 1000);
    if (isSmall && ++done % atOnce === 0) await new Promise(setImmediate);
  };
  const link = async ({ path, target = "", modified }: RepositoryEntry): Promise<void> => {
    await symlink(target, join(to, path));
    await lutimes(join(to, path), modified / 1000, modified / 1000);
  };
  await inParallel(
    entries,
    (entry) => (entry.kind === "file" ? copy(entry) : entry.kind === "link" ? link(entry) : nothing),
    width,
  );
  for (const { path, mode, modified } of directories.toReversed()) {
    if ((mode & 0o700) !== 0o700) await chmod(join(to, path), mode);
    utimesSync(join(to, path), modified / 1000, modified / 1000);
  }
}

const nothing = Promise.resolve();

async function writeOverlay(overlay: readonly OverlayFile[], to: string): Promise<void> {
  for (const { path, bytes, mode } of overlay) {
    await makeDirectories(dirname(join(to, path)));
    await writeFile(join(to, path), bytes, { mode, flag: "wx" });
  }
}

const chunkSize = 256 * 1024;

interface TarForm {
  readonly isWritable: boolean;
  readonly below: string;
}

interface TarSource {
  readonly directory: string;
  readonly form: TarForm;
  readonly signal: AbortSignal;
  /** Called for vanished files. */
  readonly onGone: (path: string) => void;
}

/** Writes an archive without its end marker. */
async function writeTar(entries: readonly RepositoryEntry[], source: TarSource, path: string): Promise<string> {
  const draft = `${path}.next`;
  await pipeline(inChunks(archiveOf(entries, source)), createWriteStream(draft, { mode: 0o600 }), {
    signal: source.signal,
  });
  await rename(draft, path);
  return path;
}

async function* streamTar(path: string, overlay: readonly OverlayFile[], form: TarForm): AsyncGenerator<Buffer, void> {
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
