import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, signalGroup } from "#lib/base/index.node.ts";
import { killMarkedBelow } from "./marked-processes.ts";

// A worker that is killed leaves processes. Their numbers alone prove nothing, since they are given again: a process is a step's if it is the very
// one that was noted, or if its variables say that it leaves its artifacts below the work directory, which nobody else's do.

/** Where the number of the step's first process is noted. */
export const processFile = (stepDirectory: string): string => join(stepDirectory, "process.json");

/** Kills what steps of a worker that has died still run. Elsewhere than on Linux nothing is found, and nothing is killed. */
export async function killLeftovers(workDirectory: string): Promise<void> {
  const steps = await entriesOf(workDirectory);
  for (const step of steps) {
    const leader = await notedIn(processFile(join(workDirectory, step)));
    if (leader !== undefined && isAlive(leader)) signalGroup(leader.pid, "SIGKILL");
  }
  killMarkedBelow(workDirectory);
}

/** What is not there has nothing in it. */
const entriesOf = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => []);

/** Only what the worker has written there counts; a file that a step has put in its place at worst names a process that is not alive. */
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
