import type { Clock, Logger } from "#lib/base/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import type { ColorChoice, Environment } from "./environment.ts";
import type { ClusterFlags, ClusterWork } from "./cluster-options.ts";
import type { OptionSpec } from "./option-spec.ts";
import type { Session } from "./session.ts";

/**
 * The arguments of an action. `options` holds commander's camel-cased values (`--data-dir` is `dataDir`), with
 * defaults.
 */
export interface Invocation<O> {
  /**
   * One per positional argument, in the order of `CommandSpec.args`; undefined for an absent one, and for the variadic
   * one.
   */
  readonly args: readonly (string | undefined)[];
  /** The words of the variadic argument. */
  readonly rest: readonly string[];
  readonly options: O & GlobalOptions;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Aborts on SIGINT, SIGTERM and when the output's reader is gone; its reason is an `Exit`. */
  readonly signal: AbortSignal;
  readonly process: OwnProcess;
  /** The running or named control plane; the caller closes it. Rejects if there is none. */
  readonly connect: () => Promise<Session>;
  readonly host: Host;
}

export type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The process around a command that ends in its own way. */
export interface OwnProcess {
  /**
   * From now on signals are passed to `told` and do not abort `Invocation.signal`, and a closed output ends nothing.
   * `abandon` is called synchronously before a bug ends the process.
   */
  takeOver(told: (signal: EndSignal) => void, abandon: () => void): void;
  /** A closed output does not end the process: servers outlive their terminals. */
  outliveOutputs(): void;
  /** Ends the process at once; unwritten output is lost. */
  exit(code: number): void;
}

/** Everything outside the command line that a command may use. */
export interface Surroundings {
  /** Cheap enough to be called again. */
  readonly environment: (color: ColorChoice) => Environment;
  readonly clock: Clock;
  /** Its reason is an `Exit`. */
  readonly signal: AbortSignal;
  readonly process: OwnProcess;
  readonly connect: (options: GlobalOptions, environment: Environment) => Promise<Session>;
  readonly host: Host;
}

/** Options of every command; absent if not given. */
export interface GlobalOptions {
  /** How often `-v` was given: 1 shows causes of errors, 2 also stacks and debug messages. */
  readonly verbose: number;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** What the program offers to verbs of dialects, loaded on first use. */
export interface Host {
  readonly version: string;
  /** Describes the running control plane that these options select. */
  findRunning(options: GlobalOptions, environment: Environment): Promise<string | undefined>;
  /** Runs controllers or servers for the named cluster until a signal; resolves with the exit code. */
  serveCluster(invocation: Invocation<ClusterFlags>, work: ClusterWork): Promise<number>;
  /** Renders templates in a thread; the caller closes it. */
  openTemplates(): Promise<TemplateHost>;
  /** The log of a long-running program, on stderr: lines for a terminal, else JSON. */
  openLog(level: "error" | "warn" | "info" | "debug", isTerminal: boolean): Promise<Logger>;
  /** The program that keeps processes alive after their starter. */
  runnerPath(): Promise<string>;
}

/** Completion of a positional argument. */
export type Completion =
  | readonly string[]
  | "file"
  | "run"
  | "file-or-run"
  | "file-or-startable"
  | "step"
  | "kind"
  | "name";

/** A verb of the command line; its action loads what it needs. */
export interface CommandSpec<O = never> {
  /** Several words for a subcommand, which follows its parent in the list. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** In commander's notation: `<file>`, `[name]`, `[rest...]`. */
  readonly args: readonly string[];
  /** How `args` are shown, if more is accepted than people need. */
  readonly shown?: readonly string[];
  readonly summary: string;
  readonly group: "Runs" | "Documents" | "Control plane" | "Other";
  /** Shown first by `--help`; a test runs each. */
  readonly examples: readonly string[];
  readonly options: readonly OptionSpec[];
  /** Left out of help and reference. */
  readonly hidden?: boolean;
  /** In the order of `args`. */
  readonly completes?: readonly Completion[];
  /** Resolves with the exit code. */
  action(invocation: Invocation<O>): Promise<number>;
}

/** Infers the type of a command's options. */
export const command = <O>(spec: CommandSpec<O>): CommandSpec<O> => spec;
