import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, signalGroup } from "#lib/base/index.node.ts";
import { killMarkedBelow } from "./marked-processes.ts";

// Process ids are reused, so a process is killed only if it is the noted one (same start time) or its variables name
// this work directory.

export const processFile = (stepDirectory: string): string => join(stepDirectory, "process.json");

/** Kills processes that steps of a dead worker left. Linux only. */
export async function killLeftovers(workDirectory: string): Promise<void> {
  const steps = await entriesOf(workDirectory);
  for (const step of steps) {
    const leader = await notedIn(processFile(join(workDirectory, step)));
    if (leader !== undefined && isAlive(leader)) signalGroup(leader.pid, "SIGKILL");
  }
  killMarkedBelow(workDirectory);
}

const entriesOf = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => []);

/** A file that a step has forged at worst names a dead process. */
async function notedIn(path: string) {
  try {
    const noted: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof noted !== "object" || noted === null || !("pid" in noted)) return undefined;
    const { pid } = noted;
    const startTicks = "startTicks" in noted ? noted.startTicks : undefined;
    const boot = "boot" in noted ? noted.boot : undefined;
    if (typeof pid !== "number" || typeof startTicks !== "string" || typeof boot !== "string") return undefined;
    return pid > 1 ? { pid, startTicks, boot } : undefined;
  } catch {
    return undefined;
  }
}
