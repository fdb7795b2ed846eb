import { isDead, thisProcess, type Owner } from "#lib/base/index.node.ts";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { type Clock, codeOf, type Millis, SlipwayError, sleep } from "#lib/base/index.ts";

/** Attempts to take the lock: about ten seconds. Attempts are counted because time in which this process was suspended
 * says nothing about the owner. */
const mostLooks = 53;
const [pauseMs, longestPauseMs]: readonly [Millis, Millis] = [10, 250];

/** Runs `act` while no other process on this machine holds the lock at `path`. The lock of a dead process is broken;
 * one held for ten seconds is an error. */
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

/** The link is atomic, so a lock file is always complete. */
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

/** True if the lock belonged to a dead process and was removed. A second lock prevents two processes from both removing
 * it, the second of which would remove the new owner's. */
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

async function isOfDead(path: string): Promise<boolean> {
  try {
    return isDead(JSON.parse(await readFile(path, "utf8")) as Owner);
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return false;
    throw new SlipwayError("lock-held", `${path} is not a lock file`, { hint: "remove the file", cause: thrown });
  }
}
