import { appendFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { type Environment, exitCode, type Invocation, type Output, UsageError } from "#kernel/command/index.ts";
import { launchClone as launchPodClone } from "../provisioner/kubernetes/launch-clone.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { type HostedBuild, launchWorker } from "../provisioner/host/launch.ts";
import { clone } from "../clone/clone.ts";
import { readSourceUrl } from "#kernel/git/index.ts";

/** The token is an environment variable because other users can see arguments. */
const tokenVariable = "WHARF_GIT_TOKEN";

export async function launch(invocation: Invocation<WharfRunOptions>): Promise<number> {
  const { args, environment, clock, signal } = invocation;
  const [directory = "", request = ""] = args;
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
          // A full disk fails the build through its results, not through this log.
        }
      };
      const { out, err } = environment;
      told = { ...invocation, environment: { ...environment, out: kept(out, keep), err: kept(err, keep) } };
    },
    run: async (build) => {
      const { runWharfBuild } = await import("./run.ts");
      return await runWharfBuild(hosted(told, build), build.project);
    },
  });
}

export async function launchClone({ args, environment, clock, signal }: Invocation<object>): Promise<number> {
  const [file = "", directory = ""] = args;
  const say = (line: string): void => environment.err.write(`${line}\n`);
  return await launchPodClone(file, directory, { environment: environment.all, clock, signal, say });
}

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

/** The options of the hosted build. Step output goes to the results, not to this process's output. */
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

/** Variables of the build override those of the process; empty ones count as unset. */
const withVariables = (environment: Environment, variables: Readonly<Record<string, string>>): Environment => ({
  ...environment,
  all: { ...environment.all, ...variables },
  variable: (name) => (Object.hasOwn(variables, name) ? variables[name] || undefined : environment.variable(name)),
});

export interface CloneFlags {
  readonly branch?: string;
  /** Full, so that a tag is not mistaken for a branch. */
  readonly ref?: string;
  /** Full: servers do not resolve abbreviated hashes. */
  readonly commit?: string;
}

/** Clones as workers do: three attempts, no prompts. Local repositories are allowed, because the caller can read them
 * anyway. */
export async function cloneRepository(invocation: Invocation<CloneFlags>): Promise<number> {
  const { args, options, environment, clock, signal } = invocation;
  const [url = "", directory = ""] = args;
  const source = readSourceUrl(url, { allowLocal: true });
  if (!source.ok) throw new UsageError(source.error);
  const place = resolve(environment.directory, directory);
  await refuseFull(place);
  const { branch, ref, commit } = options;
  const token = environment.variable(tokenVariable);
  const say = (line: string): void => environment.err.write(`${line}\n`);
  const request = { source: source.value, directory: place, branch, ref, commit, token };
  const cloned = await clone(request, { environment: environment.all, clock, signal, say });
  return cloned.ok ? exitCode.succeeded : exitCode.failed;
}

/** Cloning removes what is in the directory. */
async function refuseFull(directory: string): Promise<void> {
  const found = await readdir(directory).catch(() => []);
  if (found.length > 0) throw new UsageError(`${directory} is not empty`);
}
