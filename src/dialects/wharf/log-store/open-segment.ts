import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, type Logger } from "#lib/base/index.ts";
import { writeJson } from "../results/json-file.ts";
import type { FilePool } from "./file-pool.ts";
import { IntervalSet } from "./interval-set.ts";
import { readAt, scanSegment } from "./scan-segment.ts";
import { noFacts, Segment, type SegmentFacts, type SegmentSnapshot } from "./segment.ts";
import { SegmentIndex } from "./segment-index.ts";

/** The state of a segment at an earlier size. Optional: a missing or invalid one only costs time. */
interface Checkpoint extends SegmentSnapshot {
  readonly version: 1;
  /** The last bytes before `bytes`, to recognise the segment. */
  readonly tail: string;
}

const tailBytes = 64;

export const segmentPath = (directory: string, stepId: number): string => join(directory, `${stepId}.log`);
const checkpointPath = (path: string): string => `${path}.index`;

/** Reads the segment from its checkpoint on and cuts off a torn end. A checkpoint that does not fit is ignored. */
export async function openSegment(directory: string, stepId: number, pool: FilePool, log: Logger): Promise<Segment> {
  const path = segmentPath(directory, stepId);
  const facts = await readSegment(path, pool, log);
  return new Segment(stepId, path, facts.found, facts.checkpointed);
}

export async function rereadSegment(segment: Segment, limit: number, pool: FilePool, log: Logger): Promise<void> {
  await pool.use(segment.path, async (handle) => {
    await handle.truncate(limit);
    await handle.datasync();
  });
  segment.reset((await readSegment(segment.path, pool, log)).found);
}

interface Reading {
  readonly found: SegmentFacts;
  readonly checkpointed: number;
}

/** Cuts the file after its last whole record. */
function readSegment(path: string, pool: FilePool, log: Logger): Promise<Reading> {
  return pool.use(path, async (handle) => {
    const { size } = await handle.stat();
    const checkpoint = await readCheckpoint(path);
    const tail = checkpoint && (await readAt(handle, Math.max(0, checkpoint.bytes - tailBytes), tailBytes));
    const fits =
      checkpoint !== undefined &&
      tail !== undefined &&
      checkpoint.bytes <= size &&
      tail.subarray(0, Math.min(tailBytes, checkpoint.bytes)).toString("base64") === checkpoint.tail;
    const known = fits ? factsOf(checkpoint) : noFacts();
    const found = await scanSegment(handle, known, size);
    if (found.bytes < size) {
      log.warn("end of a log was torn and is cut off", { path, bytes: size - found.bytes });
      await handle.truncate(found.bytes);
      await handle.datasync();
    }
    return { found, checkpointed: fits ? checkpoint.bytes : 0 };
  });
}

const factsOf = ({ ids, blocks, bytes, lines, textBytes, lastLogId }: Checkpoint): SegmentFacts => ({
  bytes,
  lines,
  textBytes,
  lastLogId,
  ids: IntervalSet.of(ids),
  index: SegmentIndex.of(blocks),
});

async function readCheckpoint(path: string): Promise<Checkpoint | undefined> {
  try {
    const read = JSON.parse(await readFile(checkpointPath(path), "utf8")) as Partial<Checkpoint>;
    return read.version === 1 && Array.isArray(read.ids) && Array.isArray(read.blocks)
      ? (read as Checkpoint)
      : undefined;
  } catch (thrown) {
    // Power loss may have left half a file.
    if (codeOf(thrown) === "ENOENT" || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** All of `known` must be synced. */
export async function writeCheckpoint(segment: Segment, known: SegmentSnapshot, pool: FilePool): Promise<void> {
  const from = Math.max(0, known.bytes - tailBytes);
  const tail = await pool.use(segment.path, (handle) => readAt(handle, from, known.bytes - from));
  const checkpoint: Checkpoint = { version: 1, ...known, tail: tail.toString("base64") };
  await writeJson(checkpointPath(segment.path), checkpoint, undefined, true);
  segment.checkpointed = known.bytes;
}
