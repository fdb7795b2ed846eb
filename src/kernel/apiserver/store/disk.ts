import type { EncodedRecord } from "./codec.ts";

/** A key and its value as they are stored. The value is valid until the next row is read. */
export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Called for each row whose bytes are not those that were written; the row itself is left out. */
export type Damaged = (damage: Error) => void;

/** Whoever is about to serve what is stored cannot go on. */
export function refuse(damage: Error): never {
  throw damage;
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

/** Numbers of a disk for the metrics. */
export interface DiskFigures {
  /** Bytes that a start would have to replay. */
  readonly redoBytes: number;
  readonly checkpoints: number;
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
  /** Rows of the object table in order of key, as codec.ts lays them out. Throws at a damaged one unless `damaged` takes note. */
  objects(damaged?: Damaged): Iterable<Row>;
  /** Records of the log by revision, in its order, those kept only as the previous state of a later one included. */
  records(damaged?: Damaged): Iterable<Row>;
  /** Key and value of each system record. */
  system(): Iterable<readonly [string, Buffer]>;
  commit(batch: CommitBatch): Promise<void>;
  /** Gives up the events up to `compacted`, and the log records that nobody needs without them. */
  compact(compacted: number): Promise<void>;
  /** A small write that shows whether the disk takes any. It tries again what has failed. */
  probe(): Promise<void>;
  /** Tells of a failure in what the disk does by itself. Everything committed is durable all the same; nothing more is taken. */
  onFailure(listener: (cause: Error) => void): void;
  figures(): DiskFigures;
  backup(file: string): Promise<void>;
  close(): Promise<void>;
  /**
   * Instead of `close` after a failure that may have left a transaction's lock held, which closing would wait for: lets go of the files that
   * this program has opened as its own. What the library holds stays until the process ends. Never rejects.
   */
  abandon(): Promise<void>;
}
