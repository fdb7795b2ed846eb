import { isDead, thisProcess, type Owner } from "#lib/base/index.node.ts";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { type Clock, codeOf, type Millis, SlipwayError, sleep } from "#lib/base/index.ts";

/**
 * How often a lock is looked at: ten seconds with the pauses in between, each 10 ms longer than the one before up to a bound. Looks are counted, and not
 * time: that in which this process did not run says nothing of who holds the lock.
 */
const mostLooks = 53;
const [pauseMs, longestPauseMs]: readonly [Millis, Millis] = [10, 250];

/**
 * Does something while no other process of this machine does something under the lock of the same path. A lock whose process has died is broken;
 * one that is held for ten seconds is an error that names its file.
 */
export async function underLock<T>(path: string, clock: Clock, act: () => Promise<T>): Promise<T> {
  for (let looks = 0; !(await take(path)); looks++) {
    if (await breakDead(path)) continue;
    if (looks >= mostLooks)
      throw new SlipwayError("lock-held", `${path} is held by another process for more than 10 seconds`, {
        hint: "if nothing runs that could hold it, remove the file",
      });
    await sleep(clock, Math.min((looks + 1) * pauseMs, longestPauseMs));
  }
  try {
    return await act();
  } finally {
    await rm(path, { force: true });
  }
}

/** The file is whole from the beginning: linking it fails when there is one. */
async function take(path: string): Promise<boolean> {
  const draft = `${path}.${process.pid}.${(drafts += 1)}`;
  await writeFile(draft, JSON.stringify(thisProcess()), { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

let drafts = 0;

/**
 * True when the lock was of a process that is dead, and is gone. Two that find the same dead lock must not both remove what is at its path: the second
 * would remove the lock that the first has taken. Hence a lock for breaking locks, under which the owner is looked at once more.
 */
async function breakDead(path: string): Promise<boolean> {
  if (!(await isOfDead(path))) return false;
  const breaking = `${path}.break`;
  if (!(await take(breaking))) return false;
  try {
    if (!(await isOfDead(path))) return false;
    await rm(path, { force: true });
    return true;
  } finally {
    await rm(breaking, { force: true });
  }
}

/** A lock that has just gone has no owner; the next attempt tells. */
async function isOfDead(path: string): Promise<boolean> {
  try {
    return isDead(JSON.parse(await readFile(path, "utf8")) as Owner);
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return false;
    throw new SlipwayError("lock-held", `${path} is no lock of ours`, { hint: "remove the file", cause: thrown });
  }
}
