import { createHash, randomUUID } from "node:crypto";
import { link, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sleep } from "./abort.ts";
import { systemClock } from "./clock.ts";
import { codeOf } from "./errors.ts";
import { hasEnded, identityOf, type ProcessIdentity, readIdentity } from "./process-identity.node.ts";
import { readTextIfPresent } from "./replace-file.node.ts";

/** The process that a lock file names. */
export interface LockOwner extends ProcessIdentity {
  /** Where it serves; absent while it starts, and of a process that serves nothing. */
  readonly url?: string;
}

/** An exclusive right, held until it is released or the process ends. */
export interface ProcessLock {
  /** Adds the owner's address to the lock file. */
  announce(url: string): Promise<void>;
  /** Leaves a lock alone that another process has taken over. */
  release(): Promise<void>;
}

// Each round another process took or released the lock in between. More than a few mean a bug, not bad luck.
const rounds = 10;

/**
 * Takes the lock file at `path`, or returns the living process that holds it, which may be this one. A lock whose owner
 * has ended, or that names no process, is taken over. A killed process may take a moment to end: the owner must outlive
 * `patience`.
 */
export async function acquireLock(path: string, patience = 0): Promise<ProcessLock | LockOwner> {
  const self: LockOwner = identityOf(process.pid);
  for (let round = 0; round < rounds; round++) {
    if (await create(path, self)) return heldLock(path, self);
    const found = await readTextIfPresent(path);
    if (found === undefined) continue;
    const owner = parseOwner(found);
    if (owner !== undefined && (await outlives(owner, patience))) return owner;
    await removeStale(path, found);
  }
  throw new Error(`${path} could not be taken in ${rounds} tries`);
}

/** Tells the two results of `acquireLock` apart. */
export const isHeld = (outcome: ProcessLock | LockOwner): outcome is ProcessLock => "release" in outcome;

/** The process that a lock file names, dead or alive; undefined if there is no lock. */
export async function lockOwner(path: string): Promise<LockOwner | undefined> {
  const text = await readTextIfPresent(path);
  return text === undefined ? undefined : parseOwner(text);
}

function heldLock(path: string, self: LockOwner): ProcessLock {
  let content = formatOwner(self);
  return {
    async announce(url) {
      content = formatOwner({ ...self, url });
      await rename(await writeBeside(path, content), path);
    },
    async release() {
      if ((await readTextIfPresent(path)) === content) await rm(path, { force: true });
    },
  };
}

// A hard link appears as a whole or not at all, so that nobody reads half an owner.
async function create(path: string, owner: LockOwner): Promise<boolean> {
  const own = await writeBeside(path, formatOwner(owner));
  try {
    await link(own, path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  } finally {
    await rm(own, { force: true });
  }
}

/**
 * Removes the lock if it is still the one that was found stale. The right to remove it is a lock, too: without it, of
 * two processes that find the same stale lock, the slower one would remove the lock that the faster one has just taken.
 */
async function removeStale(path: string, stale: string): Promise<void> {
  const right = await acquireLock(rightToRemove(path, stale));
  if (!isHeld(right)) return;
  if ((await readTextIfPresent(path)) === stale) await rm(path, { force: true });
  await right.release();
}

/** The lock that must be held to remove the stale lock at `path` with this content. */
export const rightToRemove = (path: string, stale: string): string =>
  join(
    dirname(path),
    `lock.${createHash("sha256")
      .update(`${basename(path)} ${stale}`)
      .digest("hex")}`,
  );

/** Writes a new file in the same directory, from which a link or a rename is atomic. */
async function writeBeside(path: string, content: string): Promise<string> {
  const own = `${path}.${randomUUID()}`;
  await writeFile(own, content, { mode: 0o600 });
  return own;
}

const formatOwner = (owner: LockOwner): string => `${JSON.stringify(owner)}\n`;

/** Undefined for a text that is not a lock: such a file protects nothing. */
function parseOwner(text: string): LockOwner | undefined {
  try {
    const read = JSON.parse(text) as { readonly url?: unknown } | null;
    const identity = readIdentity(read);
    return identity && { ...identity, ...(typeof read?.url === "string" ? { url: read.url } : {}) };
  } catch {
    return undefined;
  }
}

const look = 100;

async function outlives(owner: LockOwner, patience: number): Promise<boolean> {
  for (let waited = 0; ; waited += look) {
    if (hasEnded(owner)) return false;
    if (owner.pid === process.pid || waited >= patience) return true;
    await sleep(systemClock, look);
  }
}
