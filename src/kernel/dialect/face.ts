import type { CommandSpec, Environment, Invocation, OptionSources, OptionSpec } from "#kernel/command/index.ts";
import type { Result } from "#lib/base/index.ts";
import type { Dialect } from "./dialect.ts";

export interface ServerOptionSources extends OptionSources {
  readonly environment: Environment;
  readonly runtime: "process" | "docker";
}

/** Server settings of a dialect. */
export interface ServerOptions {
  /** Options of `slipway up`; each has a variable of the same name. */
  readonly specs: readonly OptionSpec[];
  /** The error is the list of problems, empty if they were already printed. */
  read(sources: ServerOptionSources): Promise<Result<unknown, readonly string[]>>;
  /** Values for `slipway controllers`, which runs no servers. Absent if it reads the same options. */
  readonly forControllers?: unknown;
}

/** Options of `slipway run` for every project. */
export interface ProjectRunOptions {
  /** Another name of the definition. */
  readonly file?: string;
  /** One of `Projects.runtimes`. */
  readonly runtime?: string;
  /** One of `Projects.outputs`. */
  readonly output?: string;
  /** `client` prints the plan; `server` also checks it on the server. */
  readonly dryRun?: "none" | "client" | "server";
}

/** Directories that are run as a whole: `slipway run DIR` runs a repository's build. */
export interface Projects {
  /** The file that makes a directory a project. */
  readonly definition: string;
  /** The name of a project's run: `build`. */
  readonly noun: string;
  /** Options of `slipway run` for projects only. */
  readonly options: readonly OptionSpec[];
  readonly runtimes: readonly string[];
  readonly outputs: readonly string[];
  /** The definition in this absolute directory or the nearest parent. */
  nearest(directory: string): Promise<string | undefined>;
  /** Runs the project at the given path, or around the working directory; resolves with the exit code. */
  run(invocation: Invocation<ProjectRunOptions>): Promise<number>;
}

/** Data and light functions of a dialect; everything else is loaded on demand. */
export interface DialectFace {
  readonly name: string;
  /** In the order of the help. */
  readonly commands: readonly CommandSpec[];
  readonly serverOptions?: ServerOptions;
  readonly projects?: Projects;
  /** Options of `slipway run` for this dialect's documents, and examples. */
  readonly run?: { readonly options: readonly OptionSpec[]; readonly examples: readonly string[] };
  /** Loads the rest; may be called again. */
  load(): Promise<Dialect>;
}
