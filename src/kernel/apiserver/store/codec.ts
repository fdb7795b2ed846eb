import { storeCorrupt } from "./errors.ts";
import { type ObjectText, writeText } from "./object-bytes.ts";
import type { Space } from "./slab.ts";
import type { StoreKey } from "./store.ts";

// The bytes on disk. All integers are big-endian so that LMDB's byte order is the numbers' order.
//
//   object key    group 0 resource 0 namespace 0 name
//   object value  createRevision:8 revision:8 json
//   log record    type:1 prevRevision:8 inlined:1 keyLength:2 key valueLength:4 value [value of the previous revision]
//
// A log record ends with the object's value, so one buffer serves both tables. Rows of the log table are in log-
// rows.ts.

export type ChangeType = "add" | "modify" | "delete";

/** LMDB's limit with pages of 4 KiB. The longest Kubernetes name needs 635 bytes. */
export const maxKeyBytes = 1978;

const types: readonly ChangeType[] = ["add", "modify", "delete"];
export const recordHead = 12;
const valueHead = 16;
const twoTo32 = 2 ** 32;

export function writeRevision(target: Buffer, revision: number, offset: number): void {
  target.writeUInt32BE(Math.floor(revision / twoTo32), offset);
  target.writeUInt32BE(revision % twoTo32, offset + 4);
}

export const readRevision = (source: Buffer, offset: number): number =>
  source.readUInt32BE(offset) * twoTo32 + source.readUInt32BE(offset + 4);

export function encodeRevision(revision: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeRevision(bytes, revision, 0);
  return bytes;
}

export const keyText = (key: StoreKey): string => `${key.group}\0${key.resource}\0${key.namespace}\0${key.name}`;

export const decodeKey = (bytes: Buffer): StoreKey => parseKey(bytes.toString("utf8"));

/** Throws `store-corrupt` unless `keyText` made the text. */
export function parseKey(text: string): StoreKey {
  const parts = text.split("\0");
  const [group, resource, namespace, name] = parts;
  if (parts.length !== 4 || group === undefined || !resource || namespace === undefined || !name) {
    throw storeCorrupt(`a key has ${parts.length} parts instead of group, resource, namespace and name`);
  }
  return { group, resource, namespace, name };
}

/** A log record as written: `key` and `value` are views into `bytes`. */
export interface EncodedRecord {
  readonly bytes: Buffer;
  /** Index behind the key, of the value's length. */
  readonly keyEnd: number;
}

export const recordKey = (record: EncodedRecord): Buffer => record.bytes.subarray(recordHead, record.keyEnd);
export const recordValue = (record: EncodedRecord): Buffer => record.bytes.subarray(record.keyEnd + 4);
export const recordJson = (record: EncodedRecord): Buffer => record.bytes.subarray(record.keyEnd + 4 + valueHead);

/** Undefined when the record has the previous value inlined. */
export function previousRevisionOf(record: Buffer): number | undefined {
  const revision = record[9] === 1 ? 0 : readRevision(record, 1);
  return revision === 0 ? undefined : revision;
}

export function splitRecord(bytes: Buffer): { readonly record: EncodedRecord; readonly inlined: Buffer | undefined } {
  const keyEnd = recordHead + bytes.readUInt16BE(recordHead - 2);
  const valueEnd = keyEnd + 4 + bytes.readUInt32BE(keyEnd);
  const record = { bytes: bytes.subarray(0, valueEnd), keyEnd };
  return { record, inlined: valueEnd === bytes.length ? undefined : bytes };
}

export const isDelete = (record: Buffer): boolean => types[(record[0] ?? 0) - 1] === "delete";

/** `prevRevision` is 0 for an object's first revision. */
export interface RecordFields {
  readonly type: ChangeType;
  readonly prevRevision: number;
  readonly key: string;
  readonly createRevision: number;
  readonly revision: number;
  readonly text: ObjectText;
}

/** Writes into bytes from `space`. Throws for a key that is too long, which validation prevents. */
export function encodeRecord(fields: RecordFields, space: Space): EncodedRecord {
  const { key, text } = fields;
  const keyBytes = Buffer.byteLength(key);
  if (keyBytes > maxKeyBytes) throw new Error(`a key of ${keyBytes} bytes exceeds the store's ${maxKeyBytes}`);
  const keyEnd = recordHead + keyBytes;
  const jsonStart = keyEnd + 4 + valueHead;
  const bytes = space.take(jsonStart + text.bytes);
  bytes[0] = types.indexOf(fields.type) + 1;
  writeRevision(bytes, fields.prevRevision, 1);
  bytes[9] = 0;
  bytes.writeUInt16BE(keyBytes, 10);
  bytes.write(key, recordHead, keyBytes, keyBytes === key.length ? "latin1" : "utf8");
  bytes.writeUInt32BE(valueHead + text.bytes, keyEnd);
  writeRevision(bytes, fields.createRevision, keyEnd + 4);
  writeRevision(bytes, fields.revision, keyEnd + 12);
  writeText(text, bytes, jsonStart);
  return { bytes, keyEnd };
}

/** For a previous revision whose own record is compacted. */
export function inlinePrevious(record: EncodedRecord, previousValue: Buffer): Buffer {
  const bytes = Buffer.concat([record.bytes, previousValue]);
  bytes[9] = 1;
  return bytes;
}

export function encodeValue(createRevision: number, revision: number, json: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(valueHead + json.length);
  writeRevision(bytes, createRevision, 0);
  writeRevision(bytes, revision, 8);
  json.copy(bytes, valueHead);
  return bytes;
}

/** `json` is a view of the row it was decoded from. */
export interface DecodedValue {
  readonly createRevision: number;
  readonly revision: number;
  readonly json: Buffer;
}

export function decodeValue(bytes: Buffer): DecodedValue {
  if (bytes.length <= valueHead) throw storeCorrupt(`a value has only ${bytes.length} bytes`);
  return {
    createRevision: readRevision(bytes, 0),
    revision: readRevision(bytes, 8),
    json: bytes.subarray(valueHead),
  };
}

export interface DecodedRecord {
  readonly type: ChangeType;
  readonly prevRevision: number;
  readonly key: Buffer;
  readonly value: DecodedValue;
  readonly inlined: DecodedValue | undefined;
}

/** Checks all lengths against each other, so truncated bytes are never another record. */
export function decodeRecord(bytes: Buffer): DecodedRecord {
  const type = types[(bytes[0] ?? 0) - 1];
  if (type === undefined || bytes.length < recordHead) throw storeCorrupt("a log record has an unknown type");
  const keyEnd = recordHead + bytes.readUInt16BE(10);
  const valueStart = keyEnd + 4;
  if (valueStart > bytes.length) throw storeCorrupt("a log record ends inside its key");
  const valueEnd = valueStart + bytes.readUInt32BE(keyEnd);
  const inlined = bytes[9] === 1;
  if (valueEnd > bytes.length || inlined === (valueEnd === bytes.length)) {
    throw storeCorrupt("a log record has another length than it says");
  }
  return {
    type,
    prevRevision: readRevision(bytes, 1),
    key: bytes.subarray(recordHead, keyEnd),
    value: decodeValue(bytes.subarray(valueStart, valueEnd)),
    inlined: inlined ? decodeValue(bytes.subarray(valueEnd)) : undefined,
  };
}
