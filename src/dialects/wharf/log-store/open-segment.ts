import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "#lib/base/index.ts";
import type { FilePool } from "./file-pool.ts";
import { headerBytes, isRecordAt, lengthAt, logIdAt, longestMessage, workerLogIdAt } from "./record.ts";
import { noFacts, Segment, type SegmentFacts } from "./segment.ts";

export const segmentPath = (directory: string, stepId: number): string => join(directory, `${stepId}.log`);

/** Cuts off a torn end. What is left is durable: a killed process may have written it without a flush. */
export async function openSegment(directory: string, stepId: number, pool: FilePool, log: Logger): Promise<Segment> {
  const path = segmentPath(directory, stepId);
  const facts = await pool.use(path, async (handle) => {
    const { size } = await handle.stat();
    const found = await scanSegment(handle, size);
    if (found.bytes < size) {
      log.warn("end of a log was torn and is cut off", { path, bytes: size - found.bytes });
      await handle.truncate(found.bytes);
    }
    await handle.datasync();
    return found;
  });
  return new Segment(stepId, path, facts);
}

const chunkBytes = 1024 * 1024;

/** Reads a segment to its last whole, intact record with an ascending logId, in constant memory. */
async function scanSegment(handle: FileHandle, size: number): Promise<SegmentFacts> {
  const { ids, index } = noFacts();
  let [offset, lines, textBytes, lastLogId] = [0, 0, 0, 0];
  let needed = chunkBytes;
  for (;;) {
    const chunk = await readAt(handle, offset, Math.min(needed, size - offset));
    let at = 0;
    for (; isRecordAt(chunk, at); at += lengthAt(chunk, at) ?? 0) {
      const [logId, workerLogId] = [logIdAt(chunk, at), workerLogIdAt(chunk, at)];
      if (logId <= lastLogId) break;
      if (workerLogId > 0) ids.add(workerLogId);
      index.note(offset + at, logId, workerLogId);
      lines++;
      textBytes += (lengthAt(chunk, at) ?? 0) - headerBytes;
      lastLogId = logId;
    }
    offset += at;
    // A record longer than a chunk is read again, if its length is plausible.
    const length = lengthAt(chunk, at) ?? headerBytes;
    const isCut = at + length > chunk.length && chunk.length === needed;
    if (!isCut || length > headerBytes + longestMessage)
      return { bytes: offset, lines, textBytes, lastLogId, ids, index };
    needed = at === 0 ? length : Math.max(length, chunkBytes);
  }
}

export async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, length));
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await handle.read(bytes, read, bytes.length - read, offset + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}
