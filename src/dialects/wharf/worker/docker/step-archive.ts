import { posix } from "node:path";
import type { RepositoryEntry } from "../../repository/entry.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { StepJob } from "../step-runtime.ts";
import { artifactsDirectory } from "./container-words.ts";

/** The artifacts directory gets time 0; any other time means that it was changed. */
const untouched = 0;

/**
 * All files of a container in one archive, because each upload costs as much as a start: two directories, mounted
 * files, repository. `isWritable` grants write access to all users.
 */
export async function* stepArchive(job: StepJob, isWritable: boolean): AsyncGenerator<Buffer, void> {
  const mode = isWritable ? 0o777 : 0o755;
  for (const path of [artifactsDirectory, job.step.workdir])
    yield headerOf({ path: inRoot(path), kind: "directory", mode, modified: untouched, size: 0 });
  yield mountedFiles(job, isWritable);
  yield* job.repository.tar(job.overlay, { isWritable, below: inRoot(job.step.workdir) });
}

/** Mounted files only, for bind-mounted containers. */
export const besides = (job: Pick<StepJob, "mounts">): Buffer =>
  Buffer.concat([mountedFiles(job, false), endOfArchive]);

const mountedFiles = ({ mounts }: Pick<StepJob, "mounts">, isWritable: boolean): Buffer =>
  Buffer.concat(
    mounts.flatMap(({ path, files }) =>
      [...files].map(([name, bytes]) => file(posix.join(path, name), bytes, isWritable ? 0o644 : 0o600)),
    ),
  );

const inRoot = (path: string): string => posix.join("/", path).slice(1);

function file(path: string, bytes: Buffer, mode: number): Buffer {
  const entry: RepositoryEntry = { path: inRoot(path), kind: "file", mode, modified: 0, size: bytes.length };
  return Buffer.concat([headerOf(entry), bytes, paddingOf(bytes.length)]);
}
