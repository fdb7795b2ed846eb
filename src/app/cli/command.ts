import type { Clock } from "#lib/base/index.ts";
import type { Environment } from "./environment.ts";

/** What an action gets. `options` holds commander's camel-cased values, defaults included. */
export interface Invocation<O> {
  readonly args: readonly (string | undefined)[];
  readonly rest: readonly string[];
  readonly options: O & GlobalOptions;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Options every command takes, before or after its name. Absent: the command line did not say. */
export interface GlobalOptions {
  readonly verbose: number;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** One option of a command. `--help`, completion and `docs/reference/cli.md` are made from it. */
export interface OptionSpec {
  /** In commander's notation: `-f, --follow`, `--param <name=value...>`. */
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  readonly initial?: string | number | boolean;
  /** Collects every use into a list. */
  readonly repeatable?: boolean;
  readonly integer?: boolean;
  /** A flag whose value is how often it was given. */
  readonly counted?: boolean;
}

/** What a positional argument may be completed with: fixed words, or what has to be looked up. */
export type Completion = readonly string[] | "file" | "run" | "step" | "kind" | "name";

/** One verb of the command line: data, and an action that loads what it needs when it runs. */
export interface CommandSpec<O = never> {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** In commander's notation: `<file>`, `[name]`, `[rest...]`. */
  readonly args: readonly string[];
  readonly summary: string;
  readonly group: "Runs" | "Documents" | "Control plane" | "Other";
  /** Shown first by `--help`; each is executed by a test. */
  readonly examples: readonly string[];
  readonly options: readonly OptionSpec[];
  readonly hidden?: boolean;
  /** How each positional argument is completed, in the order of `args`. */
  readonly completes?: readonly Completion[];
  /** Resolves with the exit code. */
  action(invocation: Invocation<O>): Promise<number>;
}

/** Keeps the type of a command's own options while they are written down. */
export const command = <O>(spec: CommandSpec<O>): CommandSpec<O> => spec;
