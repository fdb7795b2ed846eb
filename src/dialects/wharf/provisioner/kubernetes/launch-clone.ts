import { readFile } from "node:fs/promises";
import { messageOf } from "#lib/base/index.ts";
import type { CloneWorld } from "../../clone/clone.ts";
import { cloneProject, type CloneSource } from "../clone-project.ts";
import { provisionerError } from "../errors.ts";

/** Clones into a directory, possibly a volume's mount point, and returns the exit code. */
export async function launchClone(file: string, directory: string, world: CloneWorld): Promise<number> {
  const done = await cloneProject(directory, await readSource(file), world);
  if (!("reason" in done)) return 0;
  world.say(done.message);
  return 1;
}

async function readSource(file: string): Promise<CloneSource> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as CloneSource;
  } catch (thrown) {
    const problem = `${file}: cannot read the worker's clone settings: ${messageOf(thrown)}`;
    throw provisionerError("worker-directory", problem, { cause: thrown });
  }
}
