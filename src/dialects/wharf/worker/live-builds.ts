import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, type Instant, messageOf } from "#lib/base/index.ts";
import { makeDirectories, isDead, thisProcess, type Owner } from "#lib/base/index.node.ts";
import { writeJson } from "../results/json-file.ts";
import { workDirectory } from "../results/results.ts";
import { seal } from "../results/seal.ts";
import { killLeftovers } from "./host/leftovers.ts";

// Results may be anywhere, and may be many. What runs is noted in one place of the user's, so that whoever comes next finds what a worker that was
// killed has left without looking through all that ended well.

/** One file for each process that runs a build. */
const notesIn = (root: string): string => join(root, "running");

/** A note on its way, which a worker that is killed then leaves behind: its content may be half of one, its name says whose it is. */
const draftOf = ({ host, pid, startTime = "0" }: Owner): string => `.${pid}-${startTime}@${host}`;

/** Whose draft a name is, if it is one. It was begun since this machine was, or is as old as anything. */
function writerOf(name: string): Owner | undefined {
  const [, pid, startTime, host] = /^\.(\d+)-(\d+)@(.*)$/s.exec(name) ?? [];
  if (pid === undefined || startTime === undefined || host === undefined) return undefined;
  return { ...thisProcess(), host, pid: Number(pid), startTime };
}

/** Notes a build of this process for whoever comes after it, should it not come to its end. The answer takes the note back. */
export async function noteBuild(root: string, resultsDirectory: string): Promise<() => Promise<void>> {
  const owner = thisProcess();
  await makeDirectories(notesIn(root), 0o700);
  const path = join(notesIn(root), `${owner.pid}-${owner.startTime ?? 0}.json`);
  // Half a note would name no worker, and never be taken away.
  await writeJson(path, { owner, directory: resultsDirectory }, join(notesIn(root), draftOf(owner)));
  return () => rm(path, { force: true });
}

/**
 * Ends what workers of this user that were killed have left: their processes, their scratch, and the results that nobody writes any more. Safe to run
 * side by side. What cannot be cleared is told, and left to the next one.
 */
export async function clearDeadBuilds(root: string, now: Instant, onWarning: (message: string) => void): Promise<void> {
  const names = await readdir(notesIn(root)).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "ENOENT") onWarning(`what former builds have left is not looked for: ${messageOf(thrown)}`);
    return [];
  });
  for (const name of names) {
    const path = join(notesIn(root), name);
    const writer = writerOf(name);
    // Its worker has begun nothing.
    if (writer !== undefined && isDead(writer)) await rm(path, { force: true });
    const noted = await readNote(path);
    if (noted === undefined || !isDead(noted.owner)) continue;
    try {
      await killLeftovers(workDirectory(noted.directory));
      await seal(noted.directory, now);
    } catch (thrown) {
      // What is still there is tried again by the next one; what is gone has nothing left to end.
      if (!(await isGone(noted.directory))) {
        onWarning(`what a build has left in ${noted.directory} is not cleared away: ${messageOf(thrown)}`);
        continue;
      }
    }
    await rm(path, { force: true });
  }
}

/** Not there, or empty. Of a directory that cannot be read nobody knows. */
async function isGone(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0;
  } catch (thrown) {
    return codeOf(thrown) === "ENOENT";
  }
}

/** What is noted of a build that runs. */
interface Note {
  readonly owner: Owner;
  readonly directory: string;
}

/** Undefined also for what is no note. */
async function readNote(path: string): Promise<Note | undefined> {
  try {
    const noted: unknown = JSON.parse(await readFile(path, "utf8"));
    return isNote(noted) ? noted : undefined;
  } catch {
    return undefined;
  }
}

/** A file of another version, or of somebody else, is none. */
const isNote = (value: unknown): value is Note =>
  typeof value === "object" &&
  value !== null &&
  "directory" in value &&
  typeof value.directory === "string" &&
  "owner" in value &&
  typeof value.owner === "object" &&
  value.owner !== null &&
  "host" in value.owner &&
  "pid" in value.owner &&
  typeof value.owner.pid === "number";
