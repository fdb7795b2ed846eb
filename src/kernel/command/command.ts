import type { Clock } from "#lib/base/index.ts";
import type { ColorChoice, Environment } from "./environment.ts";
import type { Host } from "./host.ts";
import type { Session } from "./session.ts";

/**
 * What an action gets: the words and options of the command line, and its surroundings. `options` holds commander's
 * camel-cased values (`--data-dir` is `dataDir`), defaults included; options that were not given are absent.
 */
export interface Invocation<O> {
  /**
   * One per positional argument, in the order of `CommandSpec.args`; undefined for an optional one that was not
   * given, and for one that takes several words.
   */
  readonly args: readonly (string | undefined)[];
  /** The words of the argument that takes several. */
  readonly rest: readonly string[];
  readonly options: O & GlobalOptions;
  readonly environment: Environment;
  readonly clock: Clock;
  /**
   * Aborts on SIGINT, SIGTERM and when the reader of our output went away; its reason is an `Exit` with the code to
   * end with.
   */
  readonly signal: AbortSignal;
  readonly process: OwnProcess;
  /** The running control plane, or the one that was named; the caller closes it. Rejects when there is none. */
  readonly connect: () => Promise<Session>;
  readonly host: Host;
}

export type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The process around a command that has something of its own to bring to an end, and decides itself how. */
export interface OwnProcess {
  /**
   * From now on every signal is told here; none aborts `Invocation.signal`, and an output that cannot be written any more ends nothing. `abandon` is
   * called when a fault of ours is about to end the process: what it does not do in that turn is not done.
   */
  takeOver(told: (signal: EndSignal) => void, abandon: () => void): void;
  /** From now on an output that cannot be written does not end the process: for servers, which outlive their terminals and log files. */
  outliveOutputs(): void;
  /** Ends the process in this turn; what was not written is lost. */
  exit(code: number): void;
}

/** Everything outside of a command line that a command may touch: the process, the clock, a control plane. */
export interface Surroundings {
  /** Looks at the process with this choice of colours; cheap enough to be asked again. */
  readonly environment: (color: ColorChoice) => Environment;
  readonly clock: Clock;
  /** Aborts when the process is asked to end; its reason is an `Exit`. */
  readonly signal: AbortSignal;
  readonly process: OwnProcess;
  readonly connect: (options: GlobalOptions, environment: Environment) => Promise<Session>;
  readonly host: Host;
}

/** Options every command takes, before or after its name. Absent: the command line did not say. */
export interface GlobalOptions {
  /** How often `-v` was given: 1 shows causes of errors, 2 also stacks and debug messages. */
  readonly verbose: number;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/**
 * One option of a command. `--help`, completion and `docs/reference/cli.md` are made from it; a test fails when the
 * page is not.
 */
export interface OptionSpec {
  /** In commander's notation: `-f, --follow`, `--param <name=value...>`. */
  readonly flags: string;
  readonly summary: string;
  /** Every other value is refused by commander, with the choices. */
  readonly choices?: readonly string[];
  /** The value when the option is not given; shown in the help. */
  readonly initial?: string | number | boolean;
  /** Collects every use into a list. */
  readonly repeatable?: boolean;
  /** The value is a whole number from 0 on, handed to the action as such. */
  readonly integer?: boolean;
  /** Of an option with choices whose value may be left out: what is meant then. A word behind it that is no choice is none of its own. */
  readonly preset?: string;
  /** A flag whose value is how often it was given. */
  readonly counted?: boolean;
  /** Shown under a heading of its own, after those without. */
  readonly heading?: string;
}

/** What a positional argument may be completed with: fixed words, or what has to be looked up. */
export type Completion =
  | readonly string[]
  | "file"
  | "run"
  | "file-or-run"
  | "file-or-startable"
  | "step"
  | "kind"
  | "name";

/** One verb of the command line: data, and an action that loads what it needs when it runs. */
export interface CommandSpec<O = never> {
  /** Several words for a command that belongs to another one, which comes before it in the list. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** In commander's notation: `<file>`, `[name]`, `[rest...]`. */
  readonly args: readonly string[];
  /** How `args` are shown where more words are understood than people need: a run is one, or two, its kind and its name. */
  readonly shown?: readonly string[];
  readonly summary: string;
  readonly group: "Runs" | "Documents" | "Control plane" | "Other";
  /** Shown first by `--help`; each is executed by a test. */
  readonly examples: readonly string[];
  readonly options: readonly OptionSpec[];
  /** Left out of help and reference: not for people. */
  readonly hidden?: boolean;
  /** How each positional argument is completed, in the order of `args`. */
  readonly completes?: readonly Completion[];
  /** Resolves with the exit code. */
  action(invocation: Invocation<O>): Promise<number>;
}

/** Keeps the type of a command's own options while they are written down. */
export const command = <O>(spec: CommandSpec<O>): CommandSpec<O> => spec;
