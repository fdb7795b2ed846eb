import { codeOf, messageOf, SlipwayError } from "#lib/base/index.ts";
import type { StoreKey } from "./store.ts";

export type StoreErrorCode =
  /** The requested revision is below the compacted one: list again. */
  | "revision-compacted"
  /** The store is inconsistent; the server exits 4. */
  | "store-corrupt"
  /** Written in another format; the server exits 4. */
  | "store-format"
  | "store-locked"
  | "store-commit-failed"
  /** The disk is full: reads continue, writes are refused until a probe succeeds. */
  | "store-full"
  /** The disk failed for good: reads may be stale; the server exits 5 and a restart reads what is stored. */
  | "store-failed"
  | "store-busy"
  | "store-closed";

const failure = (
  code: StoreErrorCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);

export const revisionCompacted = (revision: number, compacted: number): SlipwayError =>
  failure("revision-compacted", `revision ${revision} is no longer kept, the oldest is ${compacted}`);

export const storeCorrupt = (finding: string, cause?: unknown): SlipwayError =>
  failure("store-corrupt", `the store contradicts itself: ${finding}`, {
    hint: "put back a copy made by `slipway store backup` with `slipway store restore FILE`; `slipway store check` lists what is wrong",
    ...(cause === undefined ? {} : { cause }),
  });

/** A new store in place of a missing one would look as if everything had been deleted. */
export const storeLost = (path: string, found: "absent" | "empty" | "foreign"): SlipwayError => {
  const finding = { absent: "is missing", empty: "is empty", foreign: "is not a store of Slipway" }[found];
  return failure("store-corrupt", `${path} ${finding}, but this data directory has held a store; nothing was changed`, {
    hint: "put back a backup with `slipway store restore FILE`; to start over with an empty cluster, move the data directory away",
  });
};

export const storeFormat = (found: string, readable: string): SlipwayError =>
  failure("store-format", `the store has format ${found}, this version of slipway reads format ${readable}`, {
    hint: "start the version that wrote it: its `slipway store export` prints all objects, which this version can apply to a new store",
  });

export const commitFailed = (cause: unknown): SlipwayError =>
  failure("store-commit-failed", `storage commit failed: ${messageOf(cause)}`, { cause });

export const storeFull = (cause: unknown): SlipwayError =>
  failure("store-full", `the store is read-only because its disk is full: ${messageOf(cause)}`, {
    hint: "free some space; writes are accepted again within seconds",
    cause,
  });

export const storeFailed = (cause: unknown): SlipwayError =>
  failure("store-failed", `the store cannot write any more: ${messageOf(cause)}`, {
    hint: "check the disk, then restart: the server reads what is stored",
    cause,
  });

export const storeBusy = (queued: number): SlipwayError =>
  failure("store-busy", `${queued} writes are waiting for the disk already`);

export const storeClosed = (): SlipwayError => failure("store-closed", "the store is closed");

/** `url` is what the owner wrote into the lock, if anything. */
export class StoreLockedError extends SlipwayError {
  readonly pid: number;
  readonly url: string | undefined;

  constructor(directory: string, owner: { readonly pid: number; readonly url?: string }) {
    const place = owner.url === undefined ? "" : `, serving ${owner.url}`;
    super("store-locked", `${directory} belongs to a running slipway, process ${owner.pid}${place}`, {
      hint: "use that server, stop it first, or choose another data directory",
    });
    this.pid = owner.pid;
    this.url = owner.url;
  }
}

// The negative codes are LMDB's MDB_MAP_FULL and MDB_DBS_FULL; the others are the system's, by name or number.
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG", 28, 122, 27, -30792]);

/** The tables were closed and cannot be opened again: only a restart helps, whatever the cause. */
export class TablesLostError extends Error {
  constructor(cause: unknown) {
    super(`the database cannot be opened again: ${messageOf(cause)}`, { cause });
  }
}

/** Whether a rejected commit means that space ran out, which passes. */
export function isDiskFull(thrown: unknown): boolean {
  if (thrown instanceof TablesLostError) return false;
  if (fullCodes.has(codeOf(thrown))) return true;
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && fullCodes.has(thrown.code)) return true;
  return /no space left|disk quota exceeded|file too large|MDB_MAP_FULL/i.test(messageOf(thrown));
}

/** LMDB's errors about pages that make no sense become `store-corrupt`. */
export function readFailure(thrown: unknown): unknown {
  const isLibrary =
    typeof thrown === "object" && thrown !== null && "code" in thrown && typeof thrown.code === "number";
  // LMDB's own errors are a block of negative numbers; positive ones are the system's.
  return isLibrary && Number(thrown.code) <= -30_700 ? storeCorrupt(messageOf(thrown), thrown) : thrown;
}

/** How messages name an object: `pods "default/web"`. */
export function nameOf(key: StoreKey): string {
  const kind = key.group === "" ? key.resource : `${key.resource}.${key.group}`;
  return `${kind} ${JSON.stringify(key.namespace === "" ? key.name : `${key.namespace}/${key.name}`)}`;
}
