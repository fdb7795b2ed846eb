import type { Clock } from "#lib/base/index.ts";
import type { ColorChoice, Environment } from "./environment.ts";
import type { Host } from "./host.ts";
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

/** An option of a command, from which help, completion and `docs/reference/cli.md` are generated. */
export interface OptionSpec {
  /** In commander's notation: `-f, --follow`, `--param <name=value...>`. */
  readonly flags: string;
  readonly summary: string;
  /** Commander refuses other values. */
  readonly choices?: readonly string[];
  /** Default value, shown in the help. */
  readonly initial?: string | number | boolean;
  /** Collects a list. */
  readonly repeatable?: boolean;
  /** A whole number from 0 on. */
  readonly integer?: boolean;
  /**
   * The value if it is omitted, for an option with choices. A following word that is no choice does not belong to it.
   */
  readonly preset?: string;
  /** Its value is how often it was given. */
  readonly counted?: boolean;
  /** A heading in the help, after options without one. */
  readonly heading?: string;
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
