import type { EncodedRecord } from "./codec.ts";

/** A key and its stored value, valid until the next row is read. */
export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Called for each damaged row, which is left out. */
export type Damaged = (damage: Error) => void;

export function refuse(damage: Error): never {
  throw damage;
}

export interface DiskWrite {
  readonly revision: number;
  readonly deletes: boolean;
  readonly record: EncodedRecord;
  /** The log record when it has to carry the previous value; set when the batch is made. */
  inlined: Buffer | undefined;
}

/** A change of the system table; no value means removal. */
export interface SystemChange {
  readonly key: string;
  readonly value: Buffer | undefined;
}

/** What one commit writes: all or nothing. */
export interface CommitBatch {
  readonly writes: readonly DiskWrite[];
  readonly system: readonly SystemChange[];
  readonly revision: number;
}

export interface DiskFigures {
  readonly redoBytes: number;
  readonly checkpoints: number;
}

export interface DiskMeta {
  readonly clusterUid: string;
  readonly revision: number;
  readonly compacted: number;
}

/**
 * Where the store keeps its data. Calls never overlap, except `backup`. Resolved means durable; rejected means that
 * nothing of the call is visible to a later start, or that the disk is broken for good.
 */
export interface Disk {
  readonly meta: DiskMeta;
  /** Rows of the object table by key (codec.ts). Throws at a damaged one unless `damaged` is given. */
  objects(damaged?: Damaged): Iterable<Row>;
  /** Log records by revision, including those kept only as the previous state of a later one. */
  records(damaged?: Damaged): Iterable<Row>;
  system(): Iterable<readonly [string, Buffer]>;
  commit(batch: CommitBatch): Promise<void>;
  /** Drops the events up to `compacted` and the log records that nothing else needs. */
  compact(compacted: number): Promise<void>;
  /** A small write that shows whether the disk accepts writes; retries what failed. */
  probe(): Promise<void>;
  /** Reports failures of background work. What was committed stays durable; nothing more is accepted. */
  onFailure(listener: (cause: Error) => void): void;
  figures(): DiskFigures;
  backup(file: string): Promise<void>;
  close(): Promise<void>;
  /**
   * Replaces `close` after a failure that may have left LMDB's lock held, which `close` would wait for. Closes our own
   * files; LMDB's stay open until the process ends. Never rejects.
   */
  abandon(): Promise<void>;
}
