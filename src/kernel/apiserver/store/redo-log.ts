import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, recover } from "#lib/base/index.ts";
import type { CommitBatch, DiskMeta } from "./disk.ts";
import { storeCorrupt } from "./errors.ts";
import { joined, readSegment, type Segment } from "./redo-segment.ts";

const names = ["store.redo-0", "store.redo-1"] as const;

/** While one is written to, the tables take the content of the other. */
export const redoFiles = (directory: string): readonly [string, string] => [
  join(directory, names[0]),
  join(directory, names[1]),
];

/** The segments found; undefined when there is no file. */
export async function readSegments(directory: string): Promise<readonly Segment[] | undefined> {
  const found = await Promise.all(redoFiles(directory).map(readIfThere));
  if (found.every((bytes) => bytes === undefined)) return undefined;
  return found.flatMap((bytes) => (bytes === undefined ? [] : (readSegment(bytes) ?? [])));
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(recover(hasCode("ENOENT"), undefined));
}

/** Writes missing in the tables, which ask for `first`. Throws `store-corrupt` unless only the last end is damaged. */
export function replay(segments: readonly Segment[], first: Buffer, meta: DiskMeta): CommitBatch {
  const begin = segments.find(({ head }) => head.id.equals(first));
  if (begin === undefined) throw storeCorrupt("the redo log, which holds its latest writes, is missing");
  if (begin.head.store !== meta.clusterUid) throw storeCorrupt("the redo log belongs to another store");
  if (begin.head.firstRevision !== meta.revision + 1) {
    throw storeCorrupt(`the redo log begins at revision ${begin.head.firstRevision}, not behind ${meta.revision}`);
  }
  const next = following(begin, segments);
  if (begin.next !== undefined && next?.head.id.equals(begin.next) !== true) {
    throw storeCorrupt(`the part of the redo log behind revision ${revisionOf(begin)} is missing`);
  }
  if (next !== undefined && next.head.previous?.end.equals(begin.end) !== true) {
    throw storeCorrupt(`the redo log is damaged behind revision ${revisionOf(begin)}`);
  }
  const last = next ?? begin;
  if (last.isBroken) throw storeCorrupt(`the redo log is damaged behind revision ${revisionOf(last)}`);
  return joined([...begin.batches, ...(next?.batches ?? [])], meta.revision);
}

/** Throws if later writes or another store are in a segment: the store's file was replaced. */
export function assertTaken(segments: readonly Segment[], meta: DiskMeta): void {
  for (const segment of segments) {
    if (segment.head.store !== meta.clusterUid) throw storeCorrupt("the redo log beside it belongs to another store");
    const last = revisionOf(segment);
    if (last > meta.revision) {
      throw storeCorrupt(
        `it ends at revision ${meta.revision}, the redo log beside it at ${last}: it is an older copy`,
      );
    }
  }
}

/** Like `replay`, with segments read before the copy: without `first` the tables have everything. May end torn. */
export function replayCopied(segments: readonly Segment[], first: Buffer, meta: DiskMeta): CommitBatch {
  const begin = segments.find(({ head }) => head.id.equals(first));
  const next = begin === undefined ? undefined : following(begin, segments);
  const isJoined = begin !== undefined && next?.head.previous?.end.equals(begin.end) === true;
  return joined([...(begin?.batches ?? []), ...(isJoined ? (next?.batches ?? []) : [])], meta.revision);
}

const following = ({ head: { id } }: Segment, segments: readonly Segment[]): Segment | undefined =>
  segments.find(({ head }) => head.previous?.id.equals(id) === true);

const revisionOf = ({ head, batches }: Segment): number => batches.at(-1)?.revision ?? head.firstRevision - 1;

export async function removeRedo(directory: string): Promise<void> {
  await Promise.all(redoFiles(directory).map((path) => rm(path, { force: true })));
}

/** Keeps the log of a replaced store. */
export async function moveRedoAway(directory: string): Promise<void> {
  for (const path of redoFiles(directory)) {
    await rename(path, `${path}.replaced`).catch(recover(hasCode("ENOENT"), undefined));
  }
}
