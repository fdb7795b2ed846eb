import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { SlipwayError } from "#lib/base/index.ts";
import { decodeRecord, type EncodedRecord, readRevision } from "./codec.ts";
import type { CommitBatch, Damaged, Disk, DiskFigures, DiskMeta, DiskWrite, Row } from "./disk.ts";
import { storeCorrupt } from "./errors.ts";

// Secrets are encrypted on their way to the disk and decrypted on the way back; in memory and in the API they are
// plain.
//
//   value    createRevision:8 revision:8 json
//   sealed   createRevision:8 revision:8 1:1 key id:8 nonce:12 tag:16 ciphertext       AES-256-GCM (NIST SP 800-38D)
//
// JSON begins with a brace, so one byte tells them apart. Key and revisions are authenticated: a row copied elsewhere
// does not open.

/** A key of 256 bits. `id` identifies it without revealing anything about it. */
export interface SealingKey {
  readonly id: Buffer;
  readonly bytes: Buffer;
}

export const sealingKey = (bytes: Buffer): SealingKey => ({
  id: createHash("sha256").update("slipway sealing key").update(bytes).digest().subarray(0, 8),
  bytes,
});

const marker = 1;
const idStart = 1;
const nonceStart = 9;
const tagStart = 21;
const textStart = 37;
const valueHead = 16;
const recordHead = 12;
const secretsPrefix = Buffer.from("\0secrets\0");

const isSecret = (key: Buffer): boolean =>
  key[0] === 0 && key.length > secretsPrefix.length && secretsPrefix.compare(key, 0, secretsPrefix.length) === 0;

export interface RewritableDisk extends Disk {
  /** Replaces rows by key in one transaction. Not while the store serves. */
  rewrite(objects: readonly Row[], records: readonly Row[]): Promise<void>;
}

/** Encrypts Secrets with the first key; all keys decrypt. Without keys an encrypted row cannot be read. */
export class SealedDisk implements Disk {
  readonly #disk: RewritableDisk;
  readonly #keys: readonly SealingKey[];

  constructor(disk: RewritableDisk, keys: readonly SealingKey[]) {
    this.#disk = disk;
    this.#keys = keys;
  }

  get meta(): DiskMeta {
    return this.#disk.meta;
  }

  *objects(damaged?: Damaged): Generator<Row> {
    for (const row of this.#disk.objects(damaged)) {
      yield isSecret(row.key) ? { key: row.key, value: openValue(this.#keys, row.key, row.value) } : row;
    }
  }

  *records(damaged?: Damaged): Generator<Row> {
    for (const row of this.#disk.records(damaged)) {
      const key = keyOfRecord(row.value);
      yield isSecret(key)
        ? { key: row.key, value: mapRecord(row.value, key, (v) => openValue(this.#keys, key, v)) }
        : row;
    }
  }

  system(): Iterable<readonly [string, Buffer]> {
    return this.#disk.system();
  }

  commit(batch: CommitBatch): Promise<void> {
    const [key] = this.#keys;
    if (key === undefined || !batch.writes.some(({ record }) => isSecretRecord(record)))
      return this.#disk.commit(batch);
    const writes = batch.writes.map((write) => (isSecretRecord(write.record) ? sealWrite(key, write) : write));
    return this.#disk.commit({ ...batch, writes });
  }

  /** Makes older keys unnecessary. Free pages may hold older bytes until a backup replaces the file. */
  async reseal(): Promise<number> {
    const [first] = this.#keys;
    if (first === undefined) return 0;
    const fresh = (key: Buffer, value: Buffer): Buffer =>
      isSealedWith(first, value) ? value : sealValue(first, key, openValue(this.#keys, key, value));
    const objects = [...renewed(this.#disk.objects(), (row) => row.key, fresh)];
    const records = [
      ...renewed(
        this.#disk.records(),
        (row) => keyOfRecord(row.value),
        (key, record) => mapRecord(record, key, (value) => fresh(key, value)),
      ),
    ];
    if (objects.length + records.length > 0) await this.#disk.rewrite(objects, records);
    return objects.length;
  }

  compact(compacted: number): Promise<void> {
    return this.#disk.compact(compacted);
  }

  probe(): Promise<void> {
    return this.#disk.probe();
  }

  onFailure(listener: (cause: Error) => void): void {
    this.#disk.onFailure(listener);
  }

  figures(): DiskFigures {
    return this.#disk.figures();
  }

  backup(file: string): Promise<void> {
    return this.#disk.backup(file);
  }

  abandon(): Promise<void> {
    return this.#disk.abandon();
  }

  close(): Promise<void> {
    return this.#disk.close();
  }
}

/** The Secrets' rows that `change` changes, copied because the next row overwrites what is read. */
function* renewed(
  rows: Iterable<Row>,
  keyOf: (row: Row) => Buffer,
  change: (key: Buffer, value: Buffer) => Buffer,
): Generator<Row> {
  for (const row of rows) {
    const key = keyOf(row);
    if (!isSecret(key)) continue;
    const value = change(key, row.value);
    if (!value.equals(row.value)) yield { key: Buffer.from(row.key), value };
  }
}

const keyOfRecord = (record: Buffer): Buffer =>
  record.subarray(recordHead, recordHead + record.readUInt16BE(recordHead - 2));
/** Without making a view of the key: this runs for every write. */
const isSecretRecord = ({ bytes, keyEnd }: EncodedRecord): boolean =>
  bytes[recordHead] === 0 &&
  keyEnd - recordHead > secretsPrefix.length &&
  secretsPrefix.compare(bytes, recordHead, recordHead + secretsPrefix.length) === 0;

function sealWrite(key: SealingKey, write: DiskWrite): DiskWrite {
  const { record, inlined } = write;
  const name = record.bytes.subarray(recordHead, record.keyEnd);
  const seal = (value: Buffer) => sealValue(key, name, value);
  const sealed = mapRecord(record.bytes, name, seal);
  return {
    ...write,
    record: { bytes: sealed, keyEnd: record.keyEnd },
    inlined: inlined === undefined ? undefined : mapRecord(inlined, name, seal),
  };
}

/** The record with `change` applied to its value and its inlined previous value. */
function mapRecord(record: Buffer, key: Buffer, change: (value: Buffer) => Buffer): Buffer {
  const keyEnd = recordHead + key.length;
  const valueEnd = keyEnd + 4 + record.readUInt32BE(keyEnd);
  const { inlined } = decodeRecord(record);
  const value = change(record.subarray(keyEnd + 4, valueEnd));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(value.length);
  const previous = inlined === undefined ? [] : [change(record.subarray(valueEnd))];
  return Buffer.concat([record.subarray(0, keyEnd), length, value, ...previous]);
}

function sealValue(key: SealingKey, name: Buffer, value: Buffer): Buffer {
  if (value[valueHead] === marker) return value;
  const head = value.subarray(0, valueHead);
  // 96 random bits: far below the 2^32 values per key that SP 800-38D 8.3 allows.
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce);
  cipher.setAAD(Buffer.concat([head, name]));
  const text = Buffer.concat([cipher.update(value.subarray(valueHead)), cipher.final()]);
  return Buffer.concat([head, Buffer.of(marker), key.id, nonce, cipher.getAuthTag(), text]);
}

const isSealedWith = (key: SealingKey, value: Buffer): boolean =>
  value[valueHead] === marker && key.id.equals(value.subarray(valueHead + idStart, valueHead + nonceStart));

function openValue(keys: readonly SealingKey[], name: Buffer, value: Buffer): Buffer {
  if (value[valueHead] !== marker) return value;
  const key = keys.find((known) => isSealedWith(known, value));
  if (key === undefined) throw keyMissing(keys.length);
  const sealed = value.subarray(valueHead);
  const head = value.subarray(0, valueHead);
  const opener = createDecipheriv("aes-256-gcm", key.bytes, sealed.subarray(nonceStart, tagStart));
  opener.setAAD(Buffer.concat([head, name]));
  opener.setAuthTag(sealed.subarray(tagStart, textStart));
  try {
    return Buffer.concat([head, opener.update(sealed.subarray(textStart)), opener.final()]);
  } catch (cause) {
    const revision = readRevision(value, 8);
    throw storeCorrupt(`the Secret of revision ${revision} is sealed and does not open: its bytes were changed`, cause);
  }
}

function keyMissing(keys: number): SlipwayError {
  const which = keys === 0 ? "no key was given" : "it was sealed with a key that is not among those given";
  return new SlipwayError("encryption-key-missing", `the store holds Secrets that are encrypted, and ${which}`, {
    hint: "name the file with the key they were encrypted with: --encryption-key-file",
  });
}
