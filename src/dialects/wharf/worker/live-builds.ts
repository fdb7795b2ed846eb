import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, type Instant, messageOf } from "#lib/base/index.ts";
import { makeDirectories, isDead, thisProcess, type Owner } from "#lib/base/index.node.ts";
import { writeJson } from "../results/json-file.ts";
import { workDirectory } from "../results/results.ts";
import { seal } from "../results/seal.ts";
import { killLeftovers } from "./host/leftovers.ts";

// Running builds are noted in one place, so that the next worker finds what a killed one left without searching all
// results.

const notesIn = (root: string): string => join(root, "running");

const draftOf = ({ host, pid, startTime = "0" }: Owner): string => `.${pid}-${startTime}@${host}`;

function writerOf(name: string): Owner | undefined {
  const [, pid, startTime, host] = /^\.(\d+)-(\d+)@(.*)$/s.exec(name) ?? [];
  if (pid === undefined || startTime === undefined || host === undefined) return undefined;
  return { ...thisProcess(), host, pid: Number(pid), startTime };
}

/** Notes a running build; returns the function that removes the note. */
export async function noteBuild(root: string, resultsDirectory: string): Promise<() => Promise<void>> {
  const owner = thisProcess();
  await makeDirectories(notesIn(root), 0o700);
  const path = join(notesIn(root), `${owner.pid}-${owner.startTime ?? 0}.json`);
  // Written atomically: half a note would never be removed.
  await writeJson(path, { owner, directory: resultsDirectory }, join(notesIn(root), draftOf(owner)));
  return () => rm(path, { force: true });
}

/** Cleans up after killed workers of this user: processes, scratch and unsealed results. Safe to run in parallel.
 * Failures are reported and left to the next worker. */
export async function clearDeadBuilds(root: string, now: Instant, onWarning: (message: string) => void): Promise<void> {
  const names = await readdir(notesIn(root)).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "ENOENT") onWarning(`cannot look for leftovers of former builds: ${messageOf(thrown)}`);
    return [];
  });
  for (const name of names) {
    const path = join(notesIn(root), name);
    const writer = writerOf(name);
    if (writer !== undefined && isDead(writer)) await rm(path, { force: true });
    const noted = await readNote(path);
    if (noted === undefined || !isDead(noted.owner)) continue;
    try {
      await killLeftovers(workDirectory(noted.directory));
      await seal(noted.directory, now);
    } catch (thrown) {
      if (!(await isGone(noted.directory))) {
        onWarning(`cannot remove the leftovers in ${noted.directory}: ${messageOf(thrown)}`);
        continue;
      }
    }
    await rm(path, { force: true });
  }
}

async function isGone(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0;
  } catch (thrown) {
    return codeOf(thrown) === "ENOENT";
  }
}

interface Note {
  readonly owner: Owner;
  readonly directory: string;
}

async function readNote(path: string): Promise<Note | undefined> {
  try {
    const noted: unknown = JSON.parse(await readFile(path, "utf8"));
    return isNote(noted) ? noted : undefined;
  } catch {
    return undefined;
  }
}

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
