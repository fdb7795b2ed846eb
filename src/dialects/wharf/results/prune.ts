import { isDead } from "#lib/base/index.node.ts";
import { randomUUID } from "node:crypto";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  codeOf,
  hasCode,
  type Instant,
  type Logger,
  messageOf,
  type Millis,
  parseInstant,
  recover,
} from "#lib/base/index.ts";
import { readBuild } from "./read-build.ts";
import { seal } from "./seal.ts";

export interface Retention {
  readonly keep: number;
  /** Of the others only those that ended longer ago are removed. */
  readonly olderThan?: Millis;
}

const removed = ".removed-";

/** Removes results below `{root}/build`, except those of running builds, other machines and foreign directories. Seals
 * results of dead workers first. Returns the removed directories. */
export async function pruneResults(
  builds: string,
  { keep, olderThan = 0 }: Retention,
  { now, log }: { readonly now: Instant; readonly log: Logger },
): Promise<readonly string[]> {
  const found = await endedBuilds(builds, now, log);
  const old = found.slice(keep).filter(({ endedAt }) => now - endedAt >= olderThan);
  const gone: string[] = [];
  for (const { directory } of old) {
    if (!(await remove(builds, directory, log))) continue;
    gone.push(directory);
  }
  return gone;
}

interface EndedBuild {
  readonly directory: string;
  readonly endedAt: Instant;
}

async function endedBuilds(builds: string, now: Instant, log: Logger): Promise<readonly EndedBuild[]> {
  const names = await readdir(builds).catch(recover(hasCode("ENOENT"), []));
  const found: EndedBuild[] = [];
  for (const name of names) {
    const directory = join(builds, name);
    // Links are not followed; another process may be removing the directory.
    if ((await lstat(directory).catch(() => undefined))?.isDirectory() !== true) continue;
    if (name.startsWith(removed)) await rm(directory, { recursive: true, force: true });
    else {
      const endedAt = await endOf(directory, now).catch((thrown: unknown) => {
        log.warn("results were left alone", { directory, problem: messageOf(thrown) });
        return undefined;
      });
      if (endedAt !== undefined) found.push({ directory, endedAt });
    }
  }
  return found.toSorted((a, b) => b.endedAt - a.endedAt);
}

async function endOf(directory: string, now: Instant): Promise<Instant | undefined> {
  const build = await readBuild(directory);
  if (!build.frozen) {
    if (build.owner === undefined || !isDead(build.owner)) return undefined;
    await seal(directory, now);
    return now;
  }
  const text = build.finishedAt ?? build.startedAt;
  return (text === null ? undefined : parseInstant(text)) ?? (await lstat(directory)).mtimeMs;
}

/** Renamed first, so that nobody reads a half-removed store. */
async function remove(builds: string, directory: string, log: Logger): Promise<boolean> {
  const away = join(builds, `${removed}${randomUUID()}`);
  try {
    await rename(directory, away);
    await rm(away, { recursive: true, force: true });
    return true;
  } catch (thrown) {
    // Removed by another process, or not permitted.
    if (codeOf(thrown) !== "ENOENT") log.warn("results were not removed", { directory, problem: messageOf(thrown) });
    return false;
  }
}
