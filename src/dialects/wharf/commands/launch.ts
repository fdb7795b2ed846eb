// What a worker of this machine is before it is a worker: the repository has to be fetched, and whatever goes wrong until the first step has to
// be told to who asks for the build, who sees nothing of this process.

import type { HostedBuild } from "../dialect.ts";
import { type Environment, exitCode, type Invocation, type Output, UsageError } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";

/** The name of the variable with a password or token for HTTP. An argument would be seen by everybody on the machine. */
const tokenVariable = "WHARF_GIT_TOKEN";

/**
 * The program of a worker on this machine, which a provisioner starts: clones, and becomes the worker of the build. Not for people, who have no
 * such directory.
 */
export async function launch(invocation: Invocation<WharfRunOptions>): Promise<number> {
  const { args, environment, clock, signal } = invocation;
  const [directory = "", request = ""] = args;
  const { loadLauncher } = await import("../dialect.ts");
  const { appendFileSync } = await import("node:fs");
  const { launchWorker } = await loadLauncher();
  let told = invocation;
  return await launchWorker(directory, request, {
    environment: environment.all,
    clock,
    signal,
    say: (line) => told.environment.err.write(`${line}\n`),
    keepOutput: (file) => {
      const keep = (text: string): void => {
        try {
          appendFileSync(file, text, { mode: 0o600 });
        } catch {
          // A disk that is full ends a build by its results, which are on it, too, and not by what is told of them.
        }
      };
      const { out, err } = environment;
      told = { ...invocation, environment: { ...environment, out: kept(out, keep), err: kept(err, keep) } };
    },
    run: async (build) => {
      // Not before: what runs builds is large, and a clone may take minutes.
      const { runWharfBuild } = await import("./run.ts");
      return await runWharfBuild(hosted(told, build), build.project);
    },
  });
}

/** The first container of a worker's Pod, which clones. Not for people either. */
export async function launchClone({ args, environment, clock, signal }: Invocation<object>): Promise<number> {
  const [file = "", directory = ""] = args;
  const { loadLauncher } = await import("../dialect.ts");
  const launcher = await loadLauncher();
  const say = (line: string): void => environment.err.write(`${line}\n`);
  return await launcher.launchClone(file, directory, { environment: environment.all, clock, signal, say });
}

/** The same output, of which everything is kept elsewhere, too. */
const kept = (output: Output, keep: (text: string) => void): Output => ({
  isTerminal: output.isTerminal,
  color: output.color,
  unicode: output.unicode,
  get columns() {
    return output.columns;
  },
  get rows() {
    return output.rows;
  },
  get backlog() {
    return output.backlog;
  },
  write(text) {
    keep(text);
    output.write(text);
  },
});

/** The command line that somebody would have typed for it. Lines of steps are in the results, with limits of their own, and not in what the program says. */
function hosted(invocation: Invocation<WharfRunOptions>, build: HostedBuild): Invocation<WharfRunOptions> {
  const { project: _, variables, ...told } = build;
  const { verbose } = invocation.options;
  const options = {
    ...told,
    verbose,
    serve: true,
    gitignore: true,
    gitDir: true,
    output: "plain",
    quiet: true,
  } as const;
  return { ...invocation, options, environment: withVariables(invocation.environment, variables) };
}

/** As if they had been set for this process, in front of what was. One that is empty counts as not set, as everywhere. */
const withVariables = (environment: Environment, variables: Readonly<Record<string, string>>): Environment => ({
  ...environment,
  all: { ...environment.all, ...variables },
  variable: (name) => (Object.hasOwn(variables, name) ? variables[name] || undefined : environment.variable(name)),
});

/** What `clone` is told beside its words. */
export interface CloneFlags {
  /** As it is called there; the default branch when absent. A ref wins over it, and a commit over both. */
  readonly branch?: string;
  /** Full, so that a tag is not taken for a branch of its name. */
  readonly ref?: string;
  /** Full: servers give out nothing for the beginning of a hash. */
  readonly commit?: string;
}

/**
 * Clones as workers do, for the first container of a Pod and for people who wonder why theirs cannot: three tries, nobody is asked anything, the
 * token in a variable. Repositories of this machine are taken, because whoever types this may read them anyway.
 */
export async function cloneRepository(invocation: Invocation<CloneFlags>): Promise<number> {
  const { args, options, environment, clock, signal } = invocation;
  const [url = "", directory = ""] = args;
  const path = await import("node:path");
  const { loadLauncher } = await import("../dialect.ts");
  const { clone, readSourceUrl } = await loadLauncher();
  const source = readSourceUrl(url, { allowLocal: true });
  if (!source.ok) throw new UsageError(source.error);
  const place = path.resolve(environment.directory, directory);
  await refuseFull(place);
  const { branch, ref, commit } = options;
  const token = environment.variable(tokenVariable);
  const say = (line: string): void => environment.err.write(`${line}\n`);
  const request = { source: source.value, directory: place, branch, ref, commit, token };
  const cloned = await clone(request, { environment: environment.all, clock, signal, say });
  return cloned.ok ? exitCode.succeeded : exitCode.failed;
}

/** What is in the directory would be gone. */
async function refuseFull(directory: string): Promise<void> {
  const { readdir } = await import("node:fs/promises");
  const found = await readdir(directory).catch(() => []);
  if (found.length > 0) throw new UsageError(`${directory} is not empty`);
}
