import type { CommandSpec, Environment, Invocation, OptionSources, OptionSpec } from "#kernel/command/index.ts";
import type { Result } from "#lib/base/index.ts";
import type { Dialect } from "./dialect.ts";

/** Where options of a dialect come from when a server starts. */
export interface ServerOptionSources extends OptionSources {
  readonly environment: Environment;
  /** Where this server runs steps. */
  readonly runtime: "process" | "docker";
}

/** What people can set of a dialect when they start a server. */
export interface ServerOptions {
  /** Options of `slipway up`; each has a variable of the same name. */
  readonly specs: readonly OptionSpec[];
  /** Reads and checks them, from flags, variables and files. The error is every problem; none when they were printed with their places. */
  read(sources: ServerOptionSources): Promise<Result<unknown, readonly string[]>>;
  /** Options for `slipway controllers`, which runs controllers and no servers. */
  readonly forControllers: unknown;
}

/** Options of `slipway run` that every project understands; absent ones were not given. */
export interface ProjectRunOptions {
  /** A definition with another name. */
  readonly file?: string;
  /** One of `Projects.runtimes`. */
  readonly runtime?: string;
  /** One of `Projects.outputs`. */
  readonly output?: string;
  /** `client` prints the plan; `server` also checks it against what would run it. */
  readonly dryRun?: "none" | "client" | "server";
}

/** Directories that are run as a whole, because they hold a definition: `slipway run DIR` runs the build of a repository. */
export interface Projects {
  /** Name of the file that makes a directory a project. */
  readonly definition: string;
  /** What one run of a project is called: `build`. */
  readonly noun: string;
  /** Options of `slipway run` for projects only. */
  readonly options: readonly OptionSpec[];
  readonly runtimes: readonly string[];
  readonly outputs: readonly string[];
  /** The definition in this absolute directory or the nearest one above it. */
  nearest(directory: string): Promise<string | undefined>;
  /** Runs the project at the path of the command line, or the one around the working directory; resolves with the exit code. */
  run(invocation: Invocation<ProjectRunOptions>): Promise<number>;
}

/** What the command line and the server list of a dialect: data and light functions. Everything else is loaded when it is used. */
export interface DialectFace {
  readonly name: string;
  /** The dialect's own verbs, in the order of the help. */
  readonly commands: readonly CommandSpec[];
  readonly serverOptions?: ServerOptions;
  readonly projects?: Projects;
  /** Options of `slipway run` that only this dialect's documents use, and examples of them. */
  readonly run?: { readonly options: readonly OptionSpec[]; readonly examples: readonly string[] };
  /** Loads the rest; loading it again costs nothing. */
  load(): Promise<Dialect>;
}
