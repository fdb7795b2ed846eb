import { Command, InvalidArgumentError, Option } from "commander";
import type { ColorChoice, CommandSpec, GlobalOptions, OptionSpec, Surroundings } from "#kernel/command/index.ts";

const description = "Workflows from bare metal to delivered application, as Kubernetes-style resources.";

/** How output is printed. */
export type Manner = Pick<GlobalOptions, "verbose"> & { readonly color: ColorChoice };

export interface ProgramEvents {
  /** An action begins; `-v` may follow the command. */
  readonly onStart: (manner: Manner) => void;
  readonly onEnd: (code: number) => void;
}

/**
 * The command line as a commander program. `parseAsync` throws what actions throw, and commander's own ends
 * (`exitOverride`). The surroundings are used only for output and actions, so that `scripts/reference.mjs` can read the
 * options.
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

/** The command that a subcommand belongs to; options after the subcommand are the subcommand's. */
function commandOf(parent: Command, name: string): Command {
  const found = parent.commands.find((each) => each.name() === name);
  if (found === undefined) throw new Error(`there is no command ${name} that another one could belong to`);
  return found.enablePositionalOptions().configureHelp({ helpWidth: 80, subcommandTerm });
}

const rootOf = (built: Command): Command => (built.parent === null ? built : rootOf(built.parent));

const examplesText = (examples: readonly string[]): string =>
  `Examples:\n${examples.map((example) => `  ${example}\n`).join("")}`;

/** The first example of each group of commands. */
function firstExamples(specs: readonly CommandSpec[]): readonly string[] {
  const firsts = new Map<string, string>();
  for (const { group, hidden, examples } of specs) {
    const [first] = examples;
    if (hidden !== true && first !== undefined && !firsts.has(group)) firsts.set(group, first);
  }
  return [...firsts.values()];
}

/** Without `[options]` and aliases, to fit beside the summary. */
const subcommandTerm = (built: Command): string =>
  [built.name(), built.usage().replace(/^\[options\] ?/, "")].filter((part) => part !== "").join(" ");

/** A commander command from a spec: examples first in its help, then its own options, then inherited ones. */
function toCommand(spec: CommandSpec, surroundings: Surroundings, { onStart, onEnd }: ProgramEvents): Command {
  const built = new Command(spec.name.split(" ").at(-1))
    .description(spec.summary)
    .aliases([...(spec.aliases ?? [])])
    .helpGroup(`${spec.group}:`)
    .addHelpText("before", examplesText(spec.examples))
    .configureHelp({ helpWidth: 80 })
    .configureOutput(outputOf(surroundings))
    .exitOverride();
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
        // Commander's values have the type that the spec's options declare.
        options: options as never,
        environment,
        clock: surroundings.clock,
        signal: surroundings.signal,
        process: surroundings.process,
        connect: () => surroundings.connect(connecting(spec, options, rootOf(built).opts()), environment),
        host: surroundings.host,
      }),
    );
  });
  return built;
}

/** A command with a `--kubeconfig` of its own finds the control plane by the one before its name. */
function connecting(spec: CommandSpec, options: GlobalOptions, before: GlobalOptions): GlobalOptions {
  if (!spec.options.some(({ flags }) => flags.includes("--kubeconfig"))) return options;
  const { kubeconfig: _own, ...others } = options;
  return { ...others, ...(before.kubeconfig === undefined ? {} : { kubeconfig: before.kubeconfig }) };
}

const outputOf = ({ environment }: Surroundings) => ({
  writeOut: (text: string) => environment("auto").out.write(text),
  writeErr: (text: string) => environment("auto").err.write(text),
});

// Global options are accepted after the command too: `slipway get wf -n demo` and `slipway -n demo get wf`.
const inherited: readonly OptionSpec[] = [
  { flags: "-n, --namespace <name>", summary: "the namespace" },
  { flags: "--kubeconfig <file>", summary: "kubeconfig of the control plane" },
  { flags: "--context <name>", summary: "the kubeconfig's context to use" },
  { flags: "-v, --verbose", summary: "more details of errors; -vv adds stacks", counted: true },
  { flags: "--color <when>", summary: "colours", choices: ["auto", "always", "never"] },
];

const longOf = (flags: string): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

/** An omitted option must not hide the one before the command's name. */
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

/** At most nine digits, which a number holds exactly. */
function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
  return Number(text);
}
