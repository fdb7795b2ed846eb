// Everything that can be known is checked before the build, so that a missing tool does not waste the first stages.

import type { Mount, StepPlan } from "../../plan/step-plan.ts";
import { writeFileSync, constants } from "node:fs";
import { mkdir, writeFile, access } from "node:fs/promises";
import { dirname, join, isAbsolute } from "node:path";
import { closeWritingEnd, PipePool } from "#kernel/runtimes/index.ts";
import { identityOf } from "#lib/base/index.node.ts";
import { type Clock, getOrAdd, messageOf, onAbort } from "#lib/base/index.ts";
import { artifactFiles } from "../../results/artifact-files.ts";
import type { LeftFiles } from "../../artifacts/chosen-artifacts.ts";
import { keptArtifacts } from "../kept-artifacts.ts";
import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";
import { killMarkedBelow, markVariable } from "./marked-processes.ts";
import { startProcess, type StepCommand, type StepProcess } from "./step-process.ts";
import { processFile } from "./leftovers.ts";
import { createReporter, type Diagnostic, type Reporter } from "../../definition/diagnostics.ts";
import type { StepType } from "../../definition/step-fields.ts";

interface HostOptions {
  readonly clock: Clock;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly clusters?: ReadonlyMap<string, string>;
}

/** Runs steps as unconfined processes of this user, each in its own copy of the repository, with a process group and
 * few variables. */
export function createHostRuntime(options: HostOptions): StepRuntime {
  const running = new Set<StepProcess>();
  const leaders = new Set<number>();
  const directories = new Set<string>();
  let pipes: Promise<PipePool> | undefined;
  let closing: Promise<void> | undefined;
  /** Created with the first step; retried by the next one after a failure. */
  const openPipes = (directory: string): Promise<PipePool> => {
    pipes ??= PipePool.create(join(directory, "pipes")).catch((thrown: unknown) => {
      pipes = undefined;
      throw thrown;
    });
    pipes.catch(() => undefined);
    return pipes;
  };
  const close = async (): Promise<void> => {
    for (const each of running) each.kill();
    // Synchronously: the process may exit.
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
      // After closing no pipe is created.
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
      if (closing === undefined || running.size > 0) closing = close();
      return closing;
    },
  };
}

const artifactsOf = ({ directory }: StepJob): string => join(directory, "artifacts");
const repositoryOf = ({ directory }: StepJob): string => join(directory, "repo");

const leftFiles = (job: StepJob): LeftFiles => ({
  artifacts: artifactFiles(artifactsOf(job)),
  project: () => artifactFiles(repositoryOf(job)),
});

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

async function writeFiles(files: ReadonlyMap<string, Buffer>, place: string): Promise<void> {
  await mkdir(place, { mode: 0o700 });
  await Promise.all([...files].map(([name, bytes]) => writeFile(join(place, name), bytes, { mode: 0o600 })));
}

const notBegun: StepEnd = { status: "Cancelled", exitCode: null };

const notPrepared = ({ signal }: StepJob, thrown: unknown): StepEnd =>
  signal.aborted ? notBegun : { status: "Failed", exitCode: null, reason: "Transfer", message: messageOf(thrown) };

/** Recorded for the next worker if this one is killed. */
function note(directory: string, pid: number): void {
  try {
    writeFileSync(processFile(directory), JSON.stringify(identityOf(pid)), { mode: 0o600 });
  } catch {
    // A full disk must not end a running step.
  }
}

async function endOf(process: StepProcess, { signal, graceMs }: StepJob): Promise<StepEnd> {
  const cancel = onAbort(signal, () => process.end(graceMs));
  try {
    return await process.ended;
  } finally {
    cancel();
  }
}

/** Variables that programs need; others would make steps depend on the machine. */
const inherited = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"] as const;

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

function hostEnvironment(variables: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const found = inherited.flatMap((name) => {
    const value = variables[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { PATH: defaultPath, ...Object.fromEntries(found) };
}

const pathOf = (variables: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (variables["PATH"] ?? defaultPath).split(":").filter((directory) => directory.startsWith("/"));

const kubeDirectory = "/root/.kube";

const isKubeconfig = ({ kind, path }: Mount): boolean => kind === "configMap" && path === kubeDirectory;

/** The configured kubeconfig of the step's cluster, else the user's own. */
function kubeVariables(
  mounts: readonly Mount[],
  clusters: ReadonlyMap<string, string>,
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const cluster = mounts.find(isKubeconfig)?.name;
  if (cluster === undefined) return {};
  const path = clusters.get(cluster) ?? variables["KUBECONFIG"];
  return path === undefined ? {} : { KUBECONFIG: path };
}

const toolsByType: Readonly<Partial<Record<StepType, string>>> = { "helm-package": "helm", "nuget-package": "dotnet" };

const hint = "install it, or use --runtime docker or kubernetes";

async function checkSteps(steps: readonly StepPlan[], path: readonly string[]): Promise<readonly Diagnostic[]> {
  const present = new Map<string, Promise<boolean>>();
  const isPresent = (program: string): Promise<boolean> => {
    return getOrAdd(present, program, () => isProgram(program, path));
  };
  const reporter = createReporter("");
  const named = steps.find(({ type }) => type === "container");
  const ignored = "steps run unconfined on this machine as you; images are ignored";
  if (named !== undefined) reporter.warn({ scope: scopeOf(named) }, "image-ignored", ignored);
  for (const step of steps) await checkStep(step, isPresent, reporter);
  return reporter.diagnostics();
}

const scopeOf = ({ stage, step, type }: StepPlan): string => `${stage}/${step}/${type}`;

async function checkStep(
  step: StepPlan,
  isPresent: (program: string) => Promise<boolean>,
  reporter: Reporter,
): Promise<void> {
  const refuse = (message: string, advice: string): void =>
    reporter.error({ scope: scopeOf(step) }, "runtime-unsupported", message, { hint: advice });
  if (step.type === "docker")
    return refuse("the host runtime cannot build images", "use another runtime, such as --runtime docker");
  if (step.os === "windows") return refuse("a step for windows cannot run here", "leave its stage out with --stage");
  const tool = toolsByType[step.type];
  const needed = [...(step.entry?.slice(0, 1) ?? []), ...(tool === undefined ? [] : [tool])];
  for (const program of needed) if (!(await isPresent(program))) refuse(`program ${program} is not installed`, hint);
}

async function isProgram(program: string, path: readonly string[]): Promise<boolean> {
  const places = isAbsolute(program) ? [program] : path.map((directory) => join(directory, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
