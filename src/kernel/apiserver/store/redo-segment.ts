import { createHash } from "node:crypto";
import { isDelete, readRevision, splitRecord, writeRevision } from "./codec.ts";
import type { CommitBatch, DiskWrite, SystemChange } from "./disk.ts";
import { ownBuffers, type Space } from "./slab.ts";

// The bytes of a redo log segment. Integers are big-endian. Batches follow the head without gaps; behind the last one
// are zeros or leftovers of the file's earlier use, which no checksum fits.
//
//   head     "SLIPREDO" version:1 storeLength:1 0:6 id:8 previousId:8 previousEnd:8 firstRevision:8 store 0… checksum:8   4,096 bytes
//   batch    id:8 payloadLength:4 firstRevision:8 records:4 changes:4 payload checksum:8
//   payload  (length:4 record)* (keyLength:2 hasValue:1 valueLength:4 key value)*
//   end      a batch of no records and no changes, whose payload is the id of the segment that follows
//
// Every checksum is the first 8 bytes of SHA-256 over the checksum before it and the bytes since, so that a batch is
// only accepted in its place.

/** A page, so that no write of a batch touches the head. */
export const headBytes = 4096;
const magic = "SLIPREDO";
const version = 1;
const at = {
  version: 8,
  storeLength: 9,
  id: 16,
  previousId: 24,
  previousEnd: 32,
  firstRevision: 40,
  store: 48,
} as const;
const checksumBytes = 8;
const batchHead = 28;
export const idBytes = 8;

export interface SegmentHead {
  /** Random, one for each use of the file. */
  readonly id: Buffer;
  readonly store: string;
  readonly firstRevision: number;
  /** The previous segment and the checksum of its last batch; undefined when the tables had everything. */
  readonly previous: { readonly id: Buffer; readonly end: Buffer } | undefined;
}

export interface Sealed {
  readonly bytes: Buffer;
  readonly end: Buffer;
}

const none = Buffer.alloc(idBytes);

const checksum = (before: Buffer, bytes: Buffer): Buffer =>
  createHash("sha256").update(before).update(bytes).digest().subarray(0, checksumBytes);

/** Writes the checksum into the last bytes. */
function seal(bytes: Buffer, before: Buffer): Sealed {
  // A copy: the bytes may be in reused memory.
  const end = checksum(before, bytes.subarray(0, -checksumBytes));
  bytes.set(end, bytes.length - checksumBytes);
  return { bytes, end };
}

export function encodeHead({ id, store, firstRevision, previous }: SegmentHead): Sealed {
  const bytes = Buffer.alloc(headBytes);
  bytes.write(magic, "latin1");
  bytes[at.version] = version;
  bytes[at.storeLength] = Buffer.byteLength(store);
  bytes.set(id, at.id);
  bytes.set(previous?.id ?? none, at.previousId);
  bytes.set(previous?.end ?? none, at.previousEnd);
  writeRevision(bytes, firstRevision, at.firstRevision);
  bytes.write(store, at.store);
  return seal(bytes, none);
}

export function encodeBatch(batch: CommitBatch, id: Buffer, before: Buffer, space: Space = ownBuffers): Sealed {
  const changes = batch.system.map((change) => ({ key: Buffer.from(change.key), value: change.value }));
  let length = 0;
  for (const { record, inlined } of batch.writes) length += 4 + (inlined ?? record.bytes).length;
  for (const { key, value } of changes) length += 7 + key.length + (value?.length ?? 0);
  const bytes = space.take(batchHead + length + checksumBytes);
  bytes.set(id, 0);
  bytes.writeUInt32BE(length, 8);
  writeRevision(bytes, batch.revision + 1 - batch.writes.length, 12);
  bytes.writeUInt32BE(batch.writes.length, 20);
  bytes.writeUInt32BE(changes.length, 24);
  let position = batchHead;
  for (const { record, inlined } of batch.writes) {
    const stored = inlined ?? record.bytes;
    position = bytes.writeUInt32BE(stored.length, position);
    bytes.set(stored, position);
    position += stored.length;
  }
  for (const { key, value } of changes) {
    position = bytes.writeUInt16BE(key.length, position);
    position = bytes.writeUInt8(value === undefined ? 0 : 1, position);
    position = bytes.writeUInt32BE(value?.length ?? 0, position);
    bytes.set(key, position);
    if (value !== undefined) bytes.set(value, position + key.length);
    position += key.length + (value?.length ?? 0);
  }
  return seal(bytes, before);
}

/** Closes a segment whose successor `next` has begun. */
export function encodeEnd(next: Buffer, revision: number, id: Buffer, before: Buffer): Sealed {
  const bytes = Buffer.alloc(batchHead + idBytes + checksumBytes);
  bytes.set(id, 0);
  bytes.writeUInt32BE(idBytes, 8);
  writeRevision(bytes, revision + 1, 12);
  bytes.set(next, batchHead);
  return seal(bytes, before);
}

export interface Segment {
  readonly head: SegmentHead;
  readonly batches: readonly CommitBatch[];
  /** The last valid checksum. */
  readonly end: Buffer;
  /** The following segment, if this one was closed. */
  readonly next: Buffer | undefined;
  /** Another batch begins behind the last valid one, so it is not just the last one that is damaged. */
  readonly isBroken: boolean;
}

/** Undefined when the bytes do not begin with a segment's head. Batches are views of `bytes`. */
export function readSegment(bytes: Buffer): Segment | undefined {
  const head = decodeHead(bytes);
  if (head === undefined) return undefined;
  const batches: CommitBatch[] = [];
  let [position, end, revision] = [
    headBytes,
    bytes.subarray(headBytes - checksumBytes, headBytes),
    head.firstRevision - 1,
  ];
  let next: Buffer | undefined;
  for (;;) {
    const found = sealedBatch(bytes, position, head.id, end);
    if (found === undefined) break;
    next = decodeEnd(found.bytes);
    if (next !== undefined) break;
    const batch = decodeBatch(found.bytes);
    if (batch.revision - batch.writes.length !== revision) break;
    batches.push(batch);
    [position, end, revision] = [position + found.bytes.length, found.end, batch.revision];
  }
  return { head, batches, end, next, isBroken: bytes.indexOf(head.id, position + 1) >= 0 };
}

function decodeHead(bytes: Buffer): SegmentHead | undefined {
  if (bytes.length < headBytes || bytes.toString("latin1", 0, at.version) !== magic || bytes[at.version] !== version)
    return undefined;
  const end = headBytes - checksumBytes;
  if (!checksum(none, bytes.subarray(0, end)).equals(bytes.subarray(end, headBytes))) return undefined;
  const previousId = bytes.subarray(at.previousId, at.previousEnd);
  const previous = { id: previousId, end: bytes.subarray(at.previousEnd, at.firstRevision) };
  return {
    id: bytes.subarray(at.id, at.previousId),
    store: bytes.toString("utf8", at.store, at.store + (bytes[at.storeLength] ?? 0)),
    firstRevision: readRevision(bytes, at.firstRevision),
    previous: previousId.equals(none) ? undefined : previous,
  };
}

/** The batch at a position if it is whole and follows the checksum `before`. */
function sealedBatch(bytes: Buffer, position: number, id: Buffer, before: Buffer): Sealed | undefined {
  const payload = position + batchHead;
  if (payload + checksumBytes > bytes.length || !bytes.subarray(position, position + idBytes).equals(id))
    return undefined;
  const last = payload + bytes.readUInt32BE(position + idBytes);
  if (last + checksumBytes > bytes.length) return undefined;
  const end = bytes.subarray(last, last + checksumBytes);
  if (!checksum(before, bytes.subarray(position, last)).equals(end)) return undefined;
  return { bytes: bytes.subarray(position, last + checksumBytes), end };
}

function decodeEnd(bytes: Buffer): Buffer | undefined {
  const isEnd = bytes.length === batchHead + idBytes + checksumBytes && bytes.readBigUInt64BE(20) === 0n;
  return isEnd ? bytes.subarray(batchHead, batchHead + idBytes) : undefined;
}

/** The checksum has vouched for everything here. */
function decodeBatch(bytes: Buffer): CommitBatch {
  const firstRevision = readRevision(bytes, 12);
  const [records, changes] = [bytes.readUInt32BE(20), bytes.readUInt32BE(24)];
  const writes: DiskWrite[] = [];
  const system: SystemChange[] = [];
  let position = batchHead;
  for (let index = 0; index < records; index++) {
    const end = position + 4 + bytes.readUInt32BE(position);
    const stored = bytes.subarray(position + 4, end);
    writes.push({ revision: firstRevision + index, deletes: isDelete(stored), ...splitRecord(stored) });
    position = end;
  }
  for (let index = 0; index < changes; index++) {
    const keyEnd = position + 7 + bytes.readUInt16BE(position);
    const end = keyEnd + bytes.readUInt32BE(position + 3);
    const value = bytes[position + 2] === 1 ? bytes.subarray(keyEnd, end) : undefined;
    system.push({ key: bytes.toString("utf8", position + 7, keyEnd), value });
    position = end;
  }
  return { writes, system, revision: firstRevision + records - 1 };
}

export function joined(batches: readonly CommitBatch[], revision: number): CommitBatch {
  return {
    writes: batches.flatMap(({ writes }) => writes),
    system: batches.flatMap(({ system }) => system),
    revision: batches.at(-1)?.revision ?? revision,
  };
}
