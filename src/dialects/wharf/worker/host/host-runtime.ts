// No container and no sandbox: what keeps steps apart is that each has its own directory, its own group of processes and few variables.

import { writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { closeWritingEnd, PipePool } from "#kernel/runtimes/index.ts";
import { identityOf } from "#lib/base/index.node.ts";
import { type Clock, messageOf } from "#lib/base/index.ts";
import { artifactFiles } from "../../results/artifact-files.ts";
import type { LeftFiles } from "../../artifacts/chosen-artifacts.ts";
import { keptArtifacts } from "../kept-artifacts.ts";
import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";
import { checkSteps } from "./check-steps.ts";
import { hostEnvironment, isKubeconfig, kubeVariables, pathOf } from "./host-environment.ts";
import { killMarkedBelow, markVariable } from "./marked-processes.ts";
import { startProcess, type StepCommand, type StepProcess } from "./step-process.ts";
import { processFile } from "./leftovers.ts";

export interface HostOptions {
  readonly clock: Clock;
  /** Those of the process; few of them reach a step. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Paths of kubeconfigs by the name of their cluster. */
  readonly clusters?: ReadonlyMap<string, string>;
}

/**
 * Runs steps as processes of this machine, as whoever started the build: each in a copy of the repository, with few variables and nothing to read.
 * Nothing confines them but that.
 */
export function createHostRuntime(options: HostOptions): StepRuntime {
  const running = new Set<StepProcess>();
  const leaders = new Set<number>();
  /** Where steps work: one for a build. */
  const directories = new Set<string>();
  let pipes: Promise<PipePool> | undefined;
  let closing: Promise<void> | undefined;
  /** Begun with the first step, beside its copy. What has failed is tried again by the next one. */
  const openPipes = (directory: string): Promise<PipePool> => {
    pipes ??= PipePool.create(join(directory, "pipes")).catch((thrown: unknown) => {
      pipes = undefined;
      throw thrown;
    });
    // Whoever needs a pipe is told; a step that ends before that needs none.
    pipes.catch(() => undefined);
    return pipes;
  };
  const close = async (): Promise<void> => {
    for (const each of running) each.kill();
    // In this turn as well: the process may end in it.
    for (const directory of directories) killMarkedBelow(directory);
    await Promise.all([...running].map(({ ended }) => ended));
    await (await pipes?.catch(() => undefined))?.close();
  };
  return {
    name: "host",
    check: (steps) => checkSteps(steps, pathOf(options.variables)),
    preview: (steps) => checkSteps(steps, pathOf(options.variables)),
    brings: isKubeconfig,
    async run(job) {
      const isOver = (): boolean => closing !== undefined || job.signal.aborted;
      if (closing !== undefined) return notBegun;
      job.onPhase("Initializing");
      directories.add(dirname(job.directory));
      const pool = openPipes(dirname(job.directory));
      const prepared = await prepare(job, options).catch((thrown: unknown) => notPrepared(job, thrown));
      if ("status" in prepared) return prepared;
      // Whoever has closed removes the place of the pipes: none is made there any more.
      if (isOver()) return notBegun;
      const pipe = await (await pool).acquire();
      if (isOver()) {
        closeWritingEnd(pipe);
        pipe.release(true);
        return notBegun;
      }
      job.onPhase("Running");
      const started = await startProcess(prepared, pipe, { log: job.log, clock: options.clock, leaders });
      if ("status" in started) return started;
      running.add(started);
      try {
        note(job.directory, started.pid);
        return { ...(await endOf(started, job)), artifacts: keptArtifacts(job, leftFiles(job)) };
      } finally {
        running.delete(started);
      }
    },
    close() {
      // Nothing begins after the first call: what it has ended is looked for once.
      if (closing === undefined || running.size > 0) closing = close();
      return closing;
    },
  };
}

/** What a step finds as `WHARF_ARTIFACTS_DIR`. */
const artifactsOf = ({ directory }: StepJob): string => join(directory, "artifacts");
const repositoryOf = ({ directory }: StepJob): string => join(directory, "repo");

/** What a step that has ended has left. */
const leftFiles = (job: StepJob): LeftFiles => ({
  artifacts: artifactFiles(artifactsOf(job)),
  project: () => artifactFiles(repositoryOf(job)),
});

/** Everything a step finds when it starts. What an image has at a fixed place is below its own directory here, and variables lead there. */
async function prepare(job: StepJob, options: HostOptions): Promise<StepCommand> {
  const { step, directory, repository, overlay, mounts, signal } = job;
  const repo = repositoryOf(job);
  const places = mounts.map((mount, index) => ({ ...mount, place: join(directory, `mount${index}`) }));
  await Promise.all([
    repository.copyTo(repo, overlay, signal),
    mkdir(artifactsOf(job), { mode: 0o700 }),
    ...places.map(({ files, place }) => writeFiles(files, place)),
  ]);
  const moved = Object.entries(job.env).map(([name, value]) => {
    const home = places.find(({ path }) => value === path || value.startsWith(`${path}/`));
    return [name, home === undefined ? value : home.place + value.slice(home.path.length)];
  });
  const env = {
    ...hostEnvironment(options.variables),
    ...kubeVariables(step.mounts, options.clusters ?? new Map(), options.variables),
    ...Object.fromEntries(moved),
    [markVariable]: artifactsOf(job),
  };
  return { argv: [...(step.entry ?? []), ...step.args], directory: repo, env };
}

/** Files of secrets are for this user alone. */
async function writeFiles(files: ReadonlyMap<string, Buffer>, place: string): Promise<void> {
  await mkdir(place, { mode: 0o700 });
  await Promise.all([...files].map(([name, bytes]) => writeFile(join(place, name), bytes, { mode: 0o600 })));
}

/** Of a step whose turn never came. */
const notBegun: StepEnd = { status: "Cancelled", exitCode: null };

/** A disk that is full, or a file that cannot be read, is an end of the step like others. */
const notPrepared = ({ signal }: StepJob, thrown: unknown): StepEnd =>
  signal.aborted ? notBegun : { status: "Failed", exitCode: null, reason: "Transfer", message: messageOf(thrown) };

/** For whoever comes after a worker that was killed. What cannot be noted is found by its variables then. */
function note(directory: string, pid: number): void {
  try {
    writeFileSync(processFile(directory), JSON.stringify(identityOf(pid)), { mode: 0o600 });
  } catch {
    // A full disk must not end a step that runs.
  }
}

/** Waits for a process, which is ended when the step is to end. */
async function endOf(process: StepProcess, { signal, graceMs }: StepJob): Promise<StepEnd> {
  const end = (): void => process.end(graceMs);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  try {
    return await process.ended;
  } finally {
    signal.removeEventListener("abort", end);
  }
}
