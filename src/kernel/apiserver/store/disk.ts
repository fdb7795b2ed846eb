import type { EncodedRecord } from "./codec.ts";

/** A key and its value as they are stored. The value is valid until the next row is read. */
export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** One change of one object as the disk gets it. */
export interface DiskWrite {
  readonly revision: number;
  readonly deletes: boolean;
  readonly record: EncodedRecord;
  /** The log record instead of `record` when that one has to carry the previous value. Set when the batch is made. */
  inlined: Buffer | undefined;
}

/** One change of the system table; absent value: removal. */
export interface SystemChange {
  readonly key: string;
  readonly value: Buffer | undefined;
}

/** Everything one commit writes. It happens whole or not at all. */
export interface CommitBatch {
  readonly writes: readonly DiskWrite[];
  readonly system: readonly SystemChange[];
  /** Revision of the last write, or of the last one before when there is none. */
  readonly revision: number;
}

export interface DiskMeta {
  readonly clusterUid: string;
  readonly revision: number;
  readonly compacted: number;
}

/**
 * Where the store keeps what must survive. Calls never overlap but for `backup`. A promise that resolves means durable; one
 * that rejects means that nothing of the call is visible to a later start, or that the disk is broken for good.
 */
export interface Disk {
  readonly meta: DiskMeta;
  /** Rows of the object table in order of key, as codec.ts lays them out. */
  objects(): Iterable<Row>;
  /** Rows of the log in order of revision, those kept only as the previous state of a later one included. */
  records(): Iterable<Row>;
  /** Key and value of each system record. */
  system(): Iterable<readonly [string, Buffer]>;
  commit(batch: CommitBatch): Promise<void>;
  /** Makes `compacted` the first retained revision and removes the log records of `drop`. */
  compact(compacted: number, drop: readonly number[]): Promise<void>;
  /** A small write that shows whether the disk takes any. */
  probe(): Promise<void>;
  backup(file: string): Promise<void>;
  close(): Promise<void>;
}
