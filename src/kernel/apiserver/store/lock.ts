import { createHash, randomUUID } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, sleep, systemClock } from "#lib/base/index.ts";
import { hasEnded, identityOf, makeDirectories } from "#lib/base/index.node.ts";
import { type LockOwner, parseLockOwner } from "#kernel/kit/index.ts";
import { StoreLockedError } from "./errors.ts";

/** The right to a data directory, held until released or until this process ends. */
export interface DirectoryLock {
  /** Tells whoever finds the directory taken where its owner serves. */
  announce(url: string): Promise<void>;
  release(): Promise<void>;
}

// Each round somebody else took or freed the lock in between. More than a few mean a bug, not bad luck.
const rounds = 10;

/**
 * Takes `<directory>/lock`, creating the directory if need be. A lock whose owner is dead, or whose number another program
 * has now, is taken over. Rejects with StoreLockedError when the owner lives; this process itself counts.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  await makeDirectories(directory, 0o700);
  const taken = await take(join(directory, "lock"));
  if ("release" in taken) return taken;
  throw new StoreLockedError(directory, taken);
}

/** The lock at `path`, or whoever lives and has it. */
async function take(path: string): Promise<DirectoryLock | LockOwner> {
  const self: LockOwner = identityOf(process.pid);
  for (let round = 0; round < rounds; round++) {
    if (await create(path, self)) return heldLock(path, self);
    const found = await readText(path);
    if (found === undefined) continue;
    const owner = parseLockOwner(found);
    if (owner !== undefined && (await outlives(owner))) return owner;
    await removeStale(path, found);
  }
  throw new Error(`${path} could not be taken in ${rounds} tries`);
}

/** `release` leaves a lock alone that is not ours any more: somebody may have judged us dead, wrongly or not. */
function heldLock(path: string, self: LockOwner): DirectoryLock {
  let content = formatOwner(self);
  return {
    async announce(url) {
      content = formatOwner({ ...self, url });
      const own = await writeBeside(path, content);
      await rename(own, path);
    },
    async release() {
      if ((await readText(path)) === content) await rm(path, { force: true });
    },
  };
}

// A hard link appears whole or not at all, so that nobody ever reads half an owner.
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
 * Removes the lock if it still is the one that was judged. The right to remove this very one is a lock as well, so that no two
 * ever do: between the last look and the removal a fresh lock of somebody else would go with it. Whoever is second there
 * finds a fresh lock or none, and leaves it alone.
 */
async function removeStale(path: string, judged: string): Promise<void> {
  const right = await take(rightToRemove(path, judged));
  if (!("release" in right)) return;
  if ((await readText(path)) === judged) await rm(path, { force: true });
  await right.release();
}

/** Where the lock stands that has to be held for removing the one at `path` that says `judged`. */
export const rightToRemove = (path: string, judged: string): string =>
  join(
    dirname(path),
    `lock.${createHash("sha256")
      .update(`${basename(path)} ${judged}`)
      .digest("hex")}`,
  );

/** A name of its own in the same directory, from which a link or a rename is atomic. */
async function writeBeside(path: string, content: string): Promise<string> {
  const own = `${path}.${randomUUID()}`;
  await writeFile(own, content, { mode: 0o600 });
  return own;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

const formatOwner = (owner: LockOwner): string => `${JSON.stringify(owner)}\n`;

// A process that was killed takes a moment to let go of what it had: a restart at once must not be refused for that.
const partingMs = 100;
const partingLooks = 15;

/** True when the owner lives and goes on living for a moment in which a dying process would have ended. */
async function outlives(owner: LockOwner): Promise<boolean> {
  for (let look = 0; look < partingLooks; look++) {
    if (hasEnded(owner)) return false;
    if (owner.pid === process.pid) return true;
    await sleep(systemClock, partingMs);
  }
  return true;
}
