import { randomUUID } from "node:crypto";
import { link, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { identityOf, isAlive, type ProcessIdentity } from "#lib/base/index.node.ts";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";

// A lock is the file `<path>.<generation>` with the highest generation; it holds its owner's identity. Who finds the owner dead
// links the next generation. Linking to a name that exists fails, so of many only one gets it, and because a higher generation
// never gives way to a lower one, nobody can take a lock away that somebody else has just taken: which is what happens when a
// dead owner's file is removed and then made anew under the same name.

/** Owners may come and go while we look; more often than this within one look they do not. */
const mostTries = 20;

/** The right to be the only one; ends with `release` or with the process, whatever comes first. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Makes this process the owner of the lock. Undefined when another living process is, this one included. A lock left by a killed
 * owner is recognised by its pid, start time and boot, and taken over. Rejects when the directory cannot be written to.
 */
export async function acquireLock(path: string): Promise<Lock | undefined> {
  const mine = `${path}.new-${randomUUID()}`;
  await writeFile(mine, JSON.stringify(identityOf(process.pid)), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < mostTries; attempt++) {
      const newest = await newestGeneration(path);
      const holder = newest === 0 ? undefined : await readHolder(`${path}.${newest}`);
      if (holder !== undefined && isAlive(holder)) return undefined;
      const own = `${path}.${newest + 1}`;
      if (!(await linked(mine, own))) continue;
      // Two owners may have come and gone since we looked, and the number have become free again below a living one.
      if ((await newestGeneration(path)) > newest + 1) {
        await rm(own, { force: true });
        continue;
      }
      await removeOlder(path, newest + 1);
      // Emptied and not removed: the next generation must be a higher one.
      return { release: () => writeFile(own, "") };
    }
    return undefined;
  } finally {
    await rm(mine, { force: true });
  }
}

/** Whose lock it is, dead or alive; undefined when nobody has it, or it was released. */
export async function holderOf(path: string): Promise<ProcessIdentity | undefined> {
  const newest = await newestGeneration(path);
  return newest === 0 ? undefined : readHolder(`${path}.${newest}`);
}

async function newestGeneration(path: string): Promise<number> {
  return Math.max(0, ...(await generations(path)));
}

async function generations(path: string): Promise<readonly number[]> {
  const prefix = `${basename(path)}.`;
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => name.slice(prefix.length))
    .filter((rest) => /^[1-9]\d*$/.test(rest))
    .map(Number);
}

async function removeOlder(path: string, own: number): Promise<void> {
  for (const generation of await generations(path)) {
    if (generation < own) await rm(join(dirname(path), `${basename(path)}.${generation}`), { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

/** Undefined for what is no identity, as after a power cut that took the contents of the file: its owner is gone, too. */
async function readHolder(path: string): Promise<ProcessIdentity | undefined> {
  const holder = await readFile(path, "utf8").then(parsed, (thrown: unknown) => {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
    return undefined;
  });
  if (!isJsonObject(holder) || typeof holder["pid"] !== "number") return undefined;
  const { pid, startTicks, boot } = holder;
  return typeof startTicks === "string" && typeof boot === "string" ? { pid, startTicks, boot } : { pid };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
