import { harmless } from "#app/runs/index.ts";

/** A line that is longer is searched in pieces. */
const longestHeld = 1024 * 1024;

/**
 * Numbers, from 0, of the lines that hold the text, which is in lower case. Text is searched in blocks, and lines are
 * counted only where it is found: most lines are never looked at on their own.
 */
export async function* matchesIn(chunks: AsyncIterable<Uint8Array>, wanted: string): AsyncGenerator<number, void> {
  let line = 0;
  let last = -1;
  for await (const text of blocksOf(chunks)) {
    const shown = (text.includes("\u001b") ? harmless(text) : text).toLowerCase();
    let from = 0;
    for (let at = shown.indexOf(wanted); at >= 0; at = shown.indexOf(wanted, from)) {
      line += newlinesIn(shown, from, at);
      if (line !== last) yield (last = line);
      const end = shown.indexOf("\n", at);
      if (end < 0) {
        from = shown.length;
        break;
      }
      line += 1;
      from = end + 1;
    }
    line += newlinesIn(shown, from, shown.length);
  }
}

function newlinesIn(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

const newline = 10;

/** Whole lines, as far as they are not too long. */
async function* blocksOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([held, chunk]);
    const end = bytes.length > longestHeld ? bytes.length : bytes.lastIndexOf(newline) + 1;
    if (end > 0) yield bytes.toString("utf8", 0, end);
    held = bytes.subarray(end);
  }
  if (held.length > 0) yield held.toString();
}
