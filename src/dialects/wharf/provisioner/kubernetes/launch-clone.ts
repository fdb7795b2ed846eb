import { readFile } from "node:fs/promises";
import { messageOf } from "#lib/base/index.ts";
import type { CloneWorld } from "../../clone/clone.ts";
import { cloneProject, type CloneSource } from "../clone-project.ts";
import { provisionerError } from "../errors.ts";

/**
 * The first container of a worker's Pod: clones what the file says into a directory, which may be where a volume is mounted. What it says is all
 * that will be known of a failure. Answers with the exit code. Rejects with `worker-directory` for a file that no provisioner has written.
 */
export async function launchClone(file: string, directory: string, world: CloneWorld): Promise<number> {
  const done = await cloneProject(directory, await readSource(file), world);
  if (!("reason" in done)) return 0;
  // Lines of Git were said when they came.
  world.say(done.message);
  return 1;
}

async function readSource(file: string): Promise<CloneSource> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as CloneSource;
  } catch (thrown) {
    const problem = `${file}: expected what a worker is to clone: ${messageOf(thrown)}`;
    throw provisionerError("worker-directory", problem, { cause: thrown });
  }
}
