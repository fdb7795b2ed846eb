import type { EncodedRecord } from "./codec.ts";

/** Valid until the next row is read. */
export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Called for each damaged row, which is skipped. */
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

/** Calls never overlap, except `backup`. Resolved: durable. Rejected: invisible later, or broken for good. */
export interface Disk {
  readonly meta: DiskMeta;
  /** Rows of the object table by key (codec.ts). Throws at a damaged one unless `damaged` is given. */
  objects(damaged?: Damaged): Iterable<Row>;
  /** Log records by revision, including those kept only as the previous state of a later one. */
  records(damaged?: Damaged): Iterable<Row>;
  system(): Iterable<readonly [string, Buffer]>;
  commit(batch: CommitBatch): Promise<void>;
  /** Drops events up to `compacted` and log records no longer needed. */
  compact(compacted: number): Promise<void>;
  /** A small write that shows whether the disk accepts writes; retries what failed. */
  probe(): Promise<void>;
  /** Reports failures of background work. What was committed stays durable; nothing more is accepted. */
  onFailure(listener: (cause: Error) => void): void;
  figures(): DiskFigures;
  backup(file: string): Promise<void>;
  close(): Promise<void>;
  /** Replaces `close` if LMDB's lock may still be held. Closes our files, LMDB's stay open. Never rejects. */
  abandon(): Promise<void>;
}
