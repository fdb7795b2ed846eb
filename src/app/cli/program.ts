import { Command, InvalidArgumentError, Option } from "commander";
import type { ColorChoice, CommandSpec, GlobalOptions, OptionSpec, Surroundings } from "#kernel/command/index.ts";

const description = "Workflows from bare metal to delivered application, as Kubernetes-style resources.";

/** The options that decide how everything is said, of the command that was given. */
export type Manner = Pick<GlobalOptions, "verbose"> & { readonly color: ColorChoice };

/** What becomes of a command line. */
export interface ProgramEvents {
  /** An action begins; the last word on how much is said, since `-v` may stand behind the command. */
  readonly onStart: (manner: Manner) => void;
  /** It has ended by itself, with this exit code. */
  readonly onEnd: (code: number) => void;
}

/**
 * The whole command line as a commander program. What an action throws comes out of `parseAsync`, as does every end that
 * commander decides (`exitOverride`), after it has printed its message.
 *
 * Nothing of the surroundings is asked before something is printed or an action runs, so that `scripts/reference.mjs` can
 * build the program only to look at its options.
 */
export function buildProgram(
  specs: readonly CommandSpec[],
  version: string,
  surroundings: Surroundings,
  events: ProgramEvents,
): Command {
  const program = new Command("slipway")
    .description(description)
    .version(version, "-V, --version", "print the version")
    .option(
      "-v, --verbose",
      "more details of errors; -vv adds stacks and debug messages",
      (_, level: number) => level + 1,
      0,
    )
    .option("--kubeconfig <file>", "kubeconfig of the control plane (default: the running one)")
    .option("--context <name>", "the kubeconfig's context to use")
    .option("-n, --namespace <name>", "the namespace (default: the context's, else default)")
    .addOption(new Option("--color <when>", "colours").choices(["auto", "always", "never"]).default("auto"))
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError("See 'slipway --help'.")
    .addHelpText("before", examplesText(firstExamples(specs)))
    .configureHelp({ helpWidth: 80, showGlobalOptions: false, subcommandTerm })
    .configureOutput(outputOf(surroundings))
    .exitOverride();
  for (const spec of specs) {
    const parents = spec.name.split(" ").slice(0, -1);
    const parent = parents.reduce((at, name) => commandOf(at, name), program);
    parent.addCommand(toCommand(spec, surroundings, events), { hidden: spec.hidden === true });
  }
  return program;
}

/** The command of a name, which has words of its own from now on: what follows them is theirs. */
function commandOf(parent: Command, name: string): Command {
  const found = parent.commands.find((each) => each.name() === name);
  if (found === undefined) throw new Error(`there is no command ${name} that another one could belong to`);
  return found.enablePositionalOptions().configureHelp({ helpWidth: 80, subcommandTerm });
}

/** The command line itself. */
const rootOf = (built: Command): Command => (built.parent === null ? built : rootOf(built.parent));

const examplesText = (examples: readonly string[]): string =>
  `Examples:\n${examples.map((example) => `  ${example}\n`).join("")}`;

/** One of each group of commands: that of its first command, which comes first for a reason. */
function firstExamples(specs: readonly CommandSpec[]): readonly string[] {
  const firsts = new Map<string, string>();
  for (const { group, hidden, examples } of specs) {
    const [first] = examples;
    if (hidden !== true && first !== undefined && !firsts.has(group)) firsts.set(group, first);
  }
  return [...firsts.values()];
}

/** Without `[options]`, which all have, and without other names: what is left fits beside what it does. */
const subcommandTerm = (built: Command): string =>
  [built.name(), built.usage().replace(/^\[options\] ?/, "")].filter((part) => part !== "").join(" ");

/**
 * A command of commander from our data: examples first in its help, own options, then the inherited ones that it does
 * not have itself.
 */
function toCommand(spec: CommandSpec, surroundings: Surroundings, { onStart, onEnd }: ProgramEvents): Command {
  const built = new Command(spec.name.split(" ").at(-1))
    .description(spec.summary)
    .aliases([...(spec.aliases ?? [])])
    .helpGroup(`${spec.group}:`)
    .addHelpText("before", examplesText(spec.examples))
    .configureHelp({ helpWidth: 80 })
    .configureOutput(outputOf(surroundings))
    .exitOverride();
  // Which words and options are whose is what its own help tells.
  built.showHelpAfterError(`See 'slipway ${spec.name} --help'.`);
  for (const argument of spec.args) built.argument(argument);
  if (spec.shown !== undefined) built.usage(["[options]", ...spec.shown].join(" "));
  for (const option of spec.options) built.addOption(toOption(option));
  for (const option of inherited.filter(({ flags }) => !spec.options.some((own) => own.flags.includes(longOf(flags)))))
    built.addOption(toOption({ ...option, heading: "Options of every command:" }));
  built.action(async () => {
    const values = built.processedArgs as (string | string[] | undefined)[];
    const options = { ...rootOf(built).opts<object>(), ...defined(built.opts<object>()) } as GlobalOptions & Manner;
    onStart(options);
    const environment = surroundings.environment(options.color);
    onEnd(
      await spec.action({
        args: values.map((value) => (Array.isArray(value) ? undefined : value)),
        rest: values.flatMap((value) => (Array.isArray(value) ? value : [])),
        // Commander gives what the options of the command declare, which its type parameter repeats.
        options: options as never,
        environment,
        clock: surroundings.clock,
        signal: surroundings.signal,
        process: surroundings.process,
        connect: () => surroundings.connect(options, environment),
        host: surroundings.host,
      }),
    );
  });
  return built;
}

/** Commander writes where everything else is written: help to stdout, refusals to stderr. */
const outputOf = ({ environment }: Surroundings) => ({
  writeOut: (text: string) => environment("auto").out.write(text),
  writeErr: (text: string) => environment("auto").err.write(text),
});

// The options of the program again on every command: people write `slipway get wf -n demo` as readily as
// `slipway -n demo get wf`.
const inherited: readonly OptionSpec[] = [
  { flags: "-n, --namespace <name>", summary: "the namespace" },
  { flags: "--kubeconfig <file>", summary: "kubeconfig of the control plane" },
  { flags: "--context <name>", summary: "the kubeconfig's context to use" },
  { flags: "-v, --verbose", summary: "more details of errors; -vv adds stacks", counted: true },
  { flags: "--color <when>", summary: "colours", choices: ["auto", "always", "never"] },
];

/** `-n, --namespace <name>` → `--namespace`. */
const longOf = (flags: string): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

/** An inherited option that was not given must not hide the one given before the command's name. */
const defined = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

function toOption({
  flags,
  summary,
  choices,
  preset,
  initial,
  repeatable,
  integer,
  counted,
  heading,
}: OptionSpec): Option {
  const option = new Option(flags, summary);
  if (choices !== undefined) option.choices(choices);
  if (preset !== undefined) option.preset(preset);
  if (initial !== undefined) option.default(initial);
  if (repeatable === true)
    option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
  if (counted === true) option.argParser((_: string, level: number | undefined) => (level ?? 0) + 1);
  if (integer === true) option.argParser(wholeNumber);
  if (heading !== undefined) option.helpGroup(heading);
  return option;
}

/**
 * Nine digits at most, so that no count, port or number of lines is beyond what a number holds exactly. Minus signs
 * are refused: nothing here counts below zero.
 */
function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
  return Number(text);
}
