import { isUtf8 } from "node:buffer";
import { messageOf } from "#lib/base/index.ts";
import { FrameReader } from "#kernel/rpc/index.ts";
import { refuse } from "../http/problem.ts";
import { longestMessage, type NewLine } from "../log-store/record.ts";
import { LineCursor } from "../worker-api/line-frames.ts";
import { isId, timeToTell } from "./line-json.ts";
import type { ReceivedLines } from "./received-lines.ts";

/** Larger than a line, so that a line that is too long is counted and does not fail the others. */
const longestFrame = 8 * 1024 * 1024;

/** Reads framed lines. Refuses invalid frames; lines that cannot be kept are counted. */
export async function* receivedFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReceivedLines, void> {
  const reader = new FrameReader(longestFrame);
  for await (const chunk of body) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const frames = understood(() => reader.pushFrames(piece));
    if (frames.length > 0) yield understood(() => linesOf(frames));
  }
  if (reader.isInside) throw refuse("unexpected-body-read-error", "the body ends in the middle of a line");
}

/** Messages share memory with the frames. */
function linesOf(frames: Buffer): ReceivedLines {
  const cursor = new LineCursor(frames);
  const lines: NewLine[] = [];
  let skipped = 0;
  let problem: string | undefined;
  while (cursor.next()) {
    const { stepId, logId: workerLogId, textStart, textEnd } = cursor;
    const message = textOf(frames.subarray(textStart, textEnd));
    const found = problemOf(cursor, message);
    if (found === undefined) lines.push({ stepId, workerLogId, time: timeToTell(cursor), message });
    else {
      skipped++;
      problem ??= `line ${workerLogId} of step ${stepId}: ${found}`;
    }
  }
  return { lines, skipped, problem };
}

function problemOf({ stepId, logId }: LineCursor, message: Buffer): string | undefined {
  if (!isId(logId) || !isId(stepId)) return `expected numbers of at most ${Number.MAX_SAFE_INTEGER}`;
  return message.length > longestMessage ? `message: expected at most ${longestMessage} bytes` : undefined;
}

/** Invalid UTF-8 is replaced, which may triple its length. */
const textOf = (bytes: Buffer): Buffer => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString("utf8")));

function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw refuse("unexpected-body-read-error", messageOf(cause), { cause });
  }
}
