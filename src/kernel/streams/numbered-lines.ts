import { open } from "node:fs/promises";
import { readIndex } from "./line-index.ts";
import type { LogFile } from "./log-files.ts";
import { bytesBefore } from "./loss-mark.ts";
import { flagOffset, newline, partialFlag, prefixLength } from "./record.ts";
import type { Position } from "./start-position.ts";

// Numbers of lines, counted from 0 over the whole log: lines of removed files keep theirs. What an index knows is not
// read.

export interface NumberedPosition extends Position {
  /** Lines that end before the position. */
  readonly line: number;
}

type Sized = Pick<LogFile, "path" | "size">;

/**
 * Lines of the log that end before a place in a file, by default its end. `base` is the number at its start, for a file
 * whose index does not tell.
 */
export async function linesUpTo({ path, size }: Sized, end: number = size, base = 0): Promise<number> {
  const known = (await readIndex(path, end)).at(-1) ?? { line: base, offset: 0 };
  return known.line + (await countLines(path, known.offset, end));
}

/** Lines up to a position. */
export async function numbered(files: readonly LogFile[], position: Position): Promise<NumberedPosition> {
  let line = 0;
  for (const [index, file] of files.entries()) {
    if (index > position.file) break;
    line = await linesUpTo(file, index === position.file ? position.offset : file.size, line);
  }
  return { ...position, line };
}

/** A position before the line, as near as the index allows; the beginning of what is kept, for a line before. */
export async function linePosition(files: readonly LogFile[], wanted: number): Promise<NumberedPosition> {
  let base = 0;
  let start: NumberedPosition = { file: 0, offset: 0, line: 0 };
  for (const [index, file] of files.entries()) {
    const entries = await readIndex(file.path, file.size);
    const [first] = entries;
    if (first?.offset === 0) base = first.line;
    if (index === 0) start = { file: 0, offset: 0, line: base };
    // Before it, because a position may stand within the line.
    if (base >= wanted) return start;
    const found = entries.findLast(({ line }) => line < wanted);
    start = { file: index, offset: found?.offset ?? 0, line: found?.line ?? base };
    base = await linesUpTo(file, file.size, base);
  }
  return start;
}

const blockBytes = 256 * 1024;

/** `from` is the start of a record. A mark of what came before a file is no line of the log. */
async function countLines(path: string, from: number, end: number): Promise<number> {
  const handle = await open(path, "r");
  try {
    let lines = from === 0 && (await bytesBefore(handle)) > 0 ? -1 : 0;
    let held = 0;
    const block = Buffer.allocUnsafe(Math.min(blockBytes, Math.max(0, end - from)) + prefixLength);
    for (let offset = from; offset < end; ) {
      const wanted = Math.min(block.length - held, end - offset);
      const { bytesRead } = await handle.read(block, held, wanted, offset);
      if (bytesRead === 0) break;
      offset += bytesRead;
      const bytes = block.subarray(0, held + bytesRead);
      let start = 0;
      for (let at = bytes.indexOf(newline, start); at >= 0; at = bytes.indexOf(newline, start)) {
        // A text without a prefix, as of a damaged file, is a line as well.
        const isPiece = at - start >= prefixLength && bytes[start + flagOffset] === partialFlag;
        if (!isPiece) lines += 1;
        start = at + 1;
      }
      // Of the record that goes on in the next block only its prefix counts.
      held = bytes.copy(block, 0, start, Math.min(bytes.length, start + prefixLength));
    }
    return Math.max(0, lines);
  } finally {
    await handle.close();
  }
}
