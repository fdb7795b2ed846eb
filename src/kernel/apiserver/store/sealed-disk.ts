import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { SlipwayError } from "#lib/base/index.ts";
import { decodeRecord, type EncodedRecord, readRevision } from "./codec.ts";
import type { CommitBatch, Damaged, Disk, DiskFigures, DiskMeta, DiskWrite, Row } from "./disk.ts";
import { storeCorrupt } from "./errors.ts";

// Secrets are sealed on their way to the disk and opened on their way from it; in memory, and for everybody who reads the API, they
// are as they were. Rows of other kinds pass by after a look at the first bytes of their key.
//
//   value    createRevision:8 revision:8 json
//   sealed   createRevision:8 revision:8 1:1 key id:8 nonce:12 tag:16 ciphertext       AES-256-GCM (NIST SP 800-38D)
//
// JSON begins with a brace, so one byte tells them apart. Object key and revisions are authenticated too: a row that was copied to
// another place does not open.

/** A key of 256 bits. `id` tells which one a row was sealed with, and nothing about the key. */
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
/** Group (empty), resource. */
const secretsPrefix = Buffer.from("\0secrets\0");

const isSecret = (key: Buffer): boolean =>
  key[0] === 0 && key.length > secretsPrefix.length && secretsPrefix.compare(key, 0, secretsPrefix.length) === 0;

/** What of a disk a rewrite needs besides reading. */
export interface RewritableDisk extends Disk {
  /** Puts rows in the place of those with their keys, in one transaction. Not to be used while it serves. */
  rewrite(objects: readonly Row[], records: readonly Row[]): Promise<void>;
}

/**
 * A disk with sealed Secrets. New rows are sealed with the first key; the others are for reading what is older. Without keys nothing
 * is sealed, and a sealed row is an error that says so.
 */
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

  /**
   * Seals with the first key whatever is not: Secrets from before there was a key, and from under older ones, which are needed no
   * longer then. Nothing without keys. Pages that are free now may hold older bytes until a backup takes the place of the file.
   */
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

/** The rows of Secrets whose value `change` makes another one. Copied: what is read is overwritten by the next row. */
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
/** Without a view of the key: this is asked of every write. */
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

/** The record with its value, and the value of the previous revision if it carries one, changed. */
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

/** A value that is sealed stays as it is. */
function sealValue(key: SealingKey, name: Buffer, value: Buffer): Buffer {
  if (value[valueHead] === marker) return value;
  const head = value.subarray(0, valueHead);
  // 96 random bits: far below the 2^32 values of one key that SP 800-38D 8.3 allows.
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce);
  cipher.setAAD(Buffer.concat([head, name]));
  const text = Buffer.concat([cipher.update(value.subarray(valueHead)), cipher.final()]);
  return Buffer.concat([head, Buffer.of(marker), key.id, nonce, cipher.getAuthTag(), text]);
}

const isSealedWith = (key: SealingKey, value: Buffer): boolean =>
  value[valueHead] === marker && key.id.equals(value.subarray(valueHead + idStart, valueHead + nonceStart));

/** A value that is not sealed stays as it is. */
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
