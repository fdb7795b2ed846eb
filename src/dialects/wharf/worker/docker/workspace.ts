// The repository and artifacts go through the engine as archives, which works for any engine, or as bind mounts,
// which is faster but leaves files of root.

import { join, posix } from "node:path";
import type { RepositoryEntry } from "../../repository/entry.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { StepJob } from "../step-runtime.ts";
import { artifactsDirectory } from "./container-words.ts";
import { mkdir } from "node:fs/promises";
import type { JsonObject } from "#lib/base/index.ts";
import type { ContainerEngine } from "#kernel/runtimes/index.ts";
import type { LeftFiles } from "../../artifacts/chosen-artifacts.ts";
import { artifactFiles } from "../../results/artifact-files.ts";
import { archivedFiles, type ArchiveOf } from "../archived-files.ts";

export interface Workspace {
  readonly mounts: readonly JsonObject[];
  prepare(signal: AbortSignal): Promise<void>;
  /** Before the start; may be repeated. */
  fill(container: string, signal: AbortSignal): Promise<void>;
  /** After the end; undefined if nothing is to be kept. */
  left(container: string): Promise<LeftFiles | undefined>;
}

const hasGlobs = ({ step }: StepJob): boolean => step.artifacts.length + step.testResults.length > 0;

export const archiveWorkspace = (engine: ContainerEngine, job: StepJob, isWritable: boolean): Workspace => ({
  mounts: [],
  prepare: () => Promise.resolve(),
  fill: (container, signal) => engine.putFiles(container, "/", stepArchive(job, isWritable), signal),
  async left(container) {
    const modified = await engine.modifiedAt(container, artifactsDirectory);
    // Fetching an archive costs as much as a start, so an untouched directory is skipped.
    const isUntouched = modified === undefined || modified === 0;
    if (isUntouched && !hasGlobs(job)) return undefined;
    const archiveOf: ArchiveOf = (path) => engine.getFiles(container, path);
    return {
      artifacts: isUntouched ? nothing() : archivedFiles(archiveOf, artifactsDirectory),
      project: () => archivedFiles(archiveOf, job.step.workdir),
    };
  },
});

/** For root containers on a local engine. */
export function boundWorkspace(engine: ContainerEngine, job: StepJob): Workspace {
  const { directory, repository, overlay, step } = job;
  const [repo, artifacts] = [join(directory, "repo"), join(directory, "artifacts")];
  return {
    mounts: [
      { Type: "bind", Source: repo, Target: step.workdir },
      { Type: "bind", Source: artifacts, Target: artifactsDirectory },
    ],
    async prepare(signal) {
      await Promise.all([repository.copyTo(repo, overlay, signal), mkdir(artifacts)]);
    },
    async fill(container, signal) {
      if (job.mounts.length > 0) await engine.putFiles(container, "/", besides(job), signal);
    },
    left: () => Promise.resolve({ artifacts: artifactFiles(artifacts), project: () => artifactFiles(repo) }),
  };
}

async function* nothing(): AsyncGenerator<never, void> {}

/** The artifacts directory gets time 0; any other time means that it was changed. */
const untouched = 0;

/** All files of a container in one archive, because each upload costs as much as a start: two directories, mounted
 * files, repository. `isWritable` grants write access to all users. */
async function* stepArchive(job: StepJob, isWritable: boolean): AsyncGenerator<Buffer, void> {
  const mode = isWritable ? 0o777 : 0o755;
  for (const path of [artifactsDirectory, job.step.workdir])
    yield headerOf({ path: inRoot(path), kind: "directory", mode, modified: untouched, size: 0 });
  yield mountedFiles(job, isWritable);
  yield* job.repository.tar(job.overlay, { isWritable, below: inRoot(job.step.workdir) });
}

/** Mounted files only, for bind-mounted containers. */
const besides = (job: Pick<StepJob, "mounts">): Buffer => Buffer.concat([mountedFiles(job, false), endOfArchive]);

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
