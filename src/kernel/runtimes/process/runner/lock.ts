import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { codeOf, isJsonObject } from "#lib/base/index.ts";
import type { ProcessIdentity } from "./journal.ts";
import { identityOf, isAlive } from "./process-identity.ts";

const mostTries = 5;

/**
 * Makes this process the only runner of its directory. False when another living one is. A lock left by a killed runner is
 * recognised by its pid and start time and taken over.
 */
export async function acquireLock(path: string): Promise<boolean> {
  const mine = `${path}.${process.pid}`;
  await writeFile(mine, JSON.stringify(identityOf(process.pid)), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < mostTries; attempt++) {
      if (await linked(mine, path)) return true;
      const holder = await holderOf(path);
      if (holder !== undefined && isAlive(holder)) return false;
      // Renaming lets only one of several runners remove the dead one's lock.
      await rename(path, `${mine}.stale`).catch(ignoreMissing);
    }
    return false;
  } finally {
    await rm(mine, { force: true });
    await rm(`${mine}.stale`, { force: true });
  }
}

export const releaseLock = (path: string): Promise<void> => rm(path, { force: true });

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw thrown;
  }
}

async function holderOf(path: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  const holder: unknown = text === undefined || text === "" ? undefined : JSON.parse(text);
  if (!isJsonObject(holder) || typeof holder["pid"] !== "number") return undefined;
  const { pid, startTicks, boot } = holder;
  return typeof startTicks === "string" && typeof boot === "string" ? { pid, startTicks, boot } : { pid };
}

function ignoreMissing(thrown: unknown): undefined {
  if (codeOf(thrown) !== "ENOENT") throw thrown;
}
