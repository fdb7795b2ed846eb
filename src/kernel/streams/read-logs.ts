import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, type Instant, recover } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { DirectoryWatch } from "./directory-watch.ts";
import { listLogFiles, type LogFile, lookAt } from "./log-files.ts";
import { bytesBefore, markLength } from "./loss-mark.ts";
import { orClosed } from "./open-file.ts";
import { linePosition, numbered } from "./numbered-lines.ts";
import { RecordReader, type RecordReaderOptions } from "./record-reader.ts";
import { laterPosition, type Position, sincePosition, tailPosition } from "./start-position.ts";

export interface ReadLogsOptions extends RecordReaderOptions {
  /** Only the last lines, counted before `since` applies; 0 shows only later output. */
  readonly tailLines?: number;
  /** Begin at this line, counted from 0, or somewhat before; with `numbered`. */
  readonly fromLine?: number;
  readonly since?: Instant;
  /** End after this many bytes of output, times included. */
  readonly limitBytes?: number;
  /** Continue with later output until this signal says that the log is closed. */
  readonly follow?: AbortSignal;
  /** End quietly when this aborts. */
  readonly signal?: AbortSignal;
}

const blockBytes = 64 * 1024;

/**
 * The output in the log at `path`, over all files, in constant memory. A log without files is empty. A follower slower
 * than the rotation continues with the oldest file. Files are open only during the iteration. Any number of readers may
 * run beside the writer; one that does not follow may end within a record that is being written.
 */
export async function* readLogs(path: string, options: ReadLogsOptions = {}): AsyncGenerator<Uint8Array, void> {
  const reader = new RecordReader(options);
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const block of rawBlocks(path, options)) {
    if (typeof block === "number") {
      yield Buffer.from(`${block}\n`);
      continue;
    }
    const output = block === "end" ? reader.end() : reader.read(block);
    if (output.length >= left) {
      if (left > 0) yield output.subarray(0, left);
      return;
    }
    left -= output.length;
    if (output.length > 0) yield output;
  }
}

/** Blocks of the log's files in order; `"end"` at the end of each file. When numbered, first the number of a line. */
async function* rawBlocks(path: string, options: ReadLogsOptions): AsyncGenerator<Buffer | "end" | number, void> {
  const wake = [options.follow, options.signal].filter((signal) => signal !== undefined);
  if (options.follow !== undefined) await makeDirectories(dirname(path), 0o750);
  const watch = options.follow === undefined ? undefined : new DirectoryWatch(dirname(path), wake);
  const stopped = () => options.signal?.aborted === true;
  let current: OpenFile | undefined;
  try {
    current = await openFirst(path, options);
    if (options.numbered === true) yield current?.line ?? 0;
    while (!stopped()) {
      // Checked before reading, so that everything before the end is read.
      const ended = options.follow?.aborted ?? true;
      if (current !== undefined) yield* blocksOf(current, stopped);
      const next = await successor(path, current);
      if (next !== undefined) {
        // Once a successor exists its predecessor is complete.
        if (current !== undefined) yield* blocksOf(current, stopped);
        yield "end";
        await current?.handle.close();
        current = next;
      } else if (ended) {
        yield "end";
        return;
      } else {
        await watch?.changed();
      }
    }
  } finally {
    watch?.close();
    await current?.handle.close();
  }
}

interface OpenFile {
  readonly handle: FileHandle;
  /** As `LogFile.id`: the file may have been renamed. */
  readonly id: string;
  /** Bytes read so far. */
  offset: number;
  /** Bytes of the log before this file, if all were read. */
  read?: number;
  /** The number of the line at the offset. */
  line?: number;
}

/** From the offset to the present end. May be called again. */
async function* blocksOf(file: OpenFile, stopped: () => boolean): AsyncGenerator<Buffer, void> {
  for (;;) {
    const block = Buffer.allocUnsafe(blockBytes);
    const { bytesRead } = await file.handle.read(block, 0, blockBytes, file.offset);
    if (bytesRead === 0 || stopped()) return;
    // A mark that counts only what was read is skipped.
    const from = file.offset === 0 && file.read !== undefined ? markLength(block.subarray(0, bytesRead), file.read) : 0;
    file.offset += bytesRead;
    yield block.subarray(from, bytesRead);
  }
}

async function openFirst(path: string, options: ReadLogsOptions): Promise<OpenFile | undefined> {
  return withStableFiles(path, async (files) => {
    let position: Position = { file: 0, offset: 0 };
    if (options.since !== undefined) position = await sincePosition(files, options.since);
    if (options.tailLines !== undefined) {
      position = laterPosition(position, await tailPosition(files, options.tailLines, options.stream));
    }
    if (options.numbered !== true) return openAt(files[position.file], position.offset);
    return await openNumbered(files, position, options.fromLine);
  });
}

/** Marks of what came before a file have no number, so that they are left out. */
async function openNumbered(files: readonly LogFile[], from: Position, fromLine: number | undefined) {
  const place = fromLine === undefined ? await numbered(files, from) : await linePosition(files, fromLine);
  const opened = await openAt(files[place.file], place.offset);
  if (opened === undefined || opened === "changed") return opened;
  opened.line = place.line;
  opened.read = await orClosed(opened.handle, () => bytesBefore(opened.handle));
  return opened;
}

/** The file after `current`; undefined if that is the newest. The oldest if the rotation removed `current`. */
async function successor(path: string, current: OpenFile | undefined): Promise<OpenFile | undefined> {
  const newest = await lookAt(path);
  if (newest !== undefined && newest.id === current?.id) return undefined;
  return withStableFiles(path, async (files) => {
    const own = files.findIndex((file) => file.id === current?.id);
    const next = await openAt(files[own + 1], 0);
    // A reader of everything before the mark misses nothing.
    if (own >= 0 && current !== undefined && next !== undefined && next !== "changed")
      next.read = await orClosed(next.handle, async () => (await bytesBefore(current.handle)) + current.offset);
    return next;
  });
}

/** Retries when a rotation came between looking and opening. */
async function withStableFiles(
  path: string,
  use: (files: readonly LogFile[]) => Promise<OpenFile | "changed" | undefined>,
): Promise<OpenFile | undefined> {
  for (;;) {
    const opened = await use(await listLogFiles(path)).catch(recover(hasCode("ENOENT"), "changed" as const));
    if (opened !== "changed") return opened;
  }
}

async function openAt(file: LogFile | undefined, offset: number): Promise<OpenFile | "changed" | undefined> {
  if (file === undefined) return undefined;
  const handle = await open(file.path, "r");
  const found = await orClosed(handle, () => handle.stat({ bigint: true }));
  const id = `${found.dev}:${found.ino}`;
  if (id === file.id) return { handle, id, offset };
  await handle.close();
  return "changed";
}
