import type { FileHandle } from "node:fs/promises";
import { headerBytes, isRecordAt, lengthAt, logIdAt, longestMessage, workerLogIdAt } from "./record.ts";
import type { SegmentFacts } from "./segment.ts";

const chunkBytes = 1024 * 1024;

/** Reads a segment from `known` to its last whole, intact record with an ascending logId, in constant memory. Continues
 * the sets of `known`. The caller cuts off the rest. */
export async function scanSegment(handle: FileHandle, known: SegmentFacts, size: number): Promise<SegmentFacts> {
  const { ids, index } = known;
  let { bytes: offset, lines, textBytes, lastLogId } = known;
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
